"""What gofast.doctor is made of: observe a loader, take it apart, name the bottleneck, try what may help."""
