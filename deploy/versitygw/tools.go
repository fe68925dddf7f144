// The program whose version go.mod pins; nothing here is ever built into the product.

//go:build tools

package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
