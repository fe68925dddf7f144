// The program whose version go.mod pins; nothing here is ever built into the product.

//go:build tools

package tools

import _ "go.etcd.io/etcd/server/v3"
