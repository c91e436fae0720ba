module github.com/gofast-org/gofast

go 1.26
