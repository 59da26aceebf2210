package inside

const (
	sysSeccomp  = 277
	sysSendmmsg = 269
	machine     = 0xc00000b7
)

// otherConnects are the calls of 32-bit programs that connect.
var otherConnects = []uint32{283}
