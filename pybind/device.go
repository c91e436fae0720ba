package pybind

import (
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// devices are open, by their addresses.
var devices sync.Map // of *device.Device

// opened is a device and its place in C memory.
type opened struct {
	Address     uintptr `json:"address"`
	MakingBytes int     `json:"making_bytes"` // the size of a kernel's parameters, which Python lays out
	device.Info
}

func openDevice(c struct {
	Ordinal int `json:"ordinal"`
	device.Options
}) (any, error) {
	d, err := device.Open(c.Ordinal, c.Options)
	if err != nil {
		return nil, err
	}
	devices.Store(d.Address(), d)
	return opened{d.Address(), device.MakingBytes, d.Info()}, nil
}

func findDevice(address uintptr) (*device.Device, error) {
	d, known := devices.Load(address)
	if !known {
		return nil, gofast.NewError(gofast.ErrClosed, "device", "no such device")
	}
	return d.(*device.Device), nil
}

type deviceConfig struct {
	Address uintptr `json:"address"`
}

// closeDevice waits for what is under way and gives all back.
func closeDevice(c deviceConfig) (any, error) {
	d, err := findDevice(c.Address)
	if err != nil {
		return nil, err
	}
	devices.Delete(c.Address)
	d.Close()
	return nil, nil
}

// deviceStats are the device's counters and its memory.
func deviceStats(c deviceConfig) (any, error) {
	d, err := findDevice(c.Address)
	if err != nil {
		return nil, err
	}
	free, total, err := d.Memory()
	return struct {
		device.Stats
		Free  int64 `json:"free"`
		Total int64 `json:"total"`
	}{d.Stats(), free, total}, err
}

// findKernel is the function that makes numbers on the device.
func findKernel(c struct {
	deviceConfig
	Stored numbers.Type `json:"stored"`
	Made   numbers.Type `json:"made"`
}) (any, error) {
	d, err := findDevice(c.Address)
	if err != nil {
		return nil, err
	}
	return d.Kernel(c.Stored, c.Made)
}
