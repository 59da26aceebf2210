package inside

import (
	"errors"
	"slices"
)

const (
	// The descriptors on which the helper process reads its orders and reports its result.
	ordersFD, reportFD = 3, 4

	// Ready is reported right before the program takes over. A report after it is about the program.
	Ready = '+'
)

// Orders describe an enclosure to the process that creates it.
type Orders struct {
	Mounts    []Mount
	Root      string
	Edits     []Edit
	Dir       string
	NoNetwork bool
	MakeOnly  bool
	// OwnUsers means that there is a user namespace, whose capabilities must be dropped.
	OwnUsers bool
	// Rights are the capabilities of the process that gives the orders.
	Rights uint64
}

// Encode writes the orders as fields that end with a zero byte, which no path contains.
func (o *Orders) Encode() []byte {
	var fields []string
	add := func(more ...string) { fields = append(fields, more...) }
	add("dir", o.Dir, "root", o.Root, "rights", o.rightsText())
	for _, m := range o.Mounts {
		add("mount", string(m.Kind), m.Target, m.Source, m.Lower, m.Upper, m.Work)
	}
	for _, e := range o.Edits {
		add("edit", e.Name, e.Source)
	}
	for name, flag := range o.flags() {
		if *flag {
			add(name)
		}
	}
	return joinFields(fields...)
}

func (o *Orders) flags() map[string]*bool {
	return map[string]*bool{"no network": &o.NoNetwork, "make only": &o.MakeOnly, "own users": &o.OwnUsers}
}

// rightsText has one digit for each capability, lowest first.
func (o *Orders) rightsText() string {
	var text []byte
	for right := range 64 {
		text = append(text, '0'+byte(o.Rights>>right&1))
	}
	return string(text)
}

var errBadOrders = errors.New("not understood")

func decodeOrders(text []byte) (*Orders, error) {
	o, fields := &Orders{}, splitFields(text)
	ok := len(fields) > 0
	next := func() string {
		if len(fields) == 0 {
			ok = false
			return ""
		}
		field := fields[0]
		fields = fields[1:]
		return field
	}
	for len(fields) > 0 {
		switch name := next(); name {
		case "dir":
			o.Dir = next()
		case "root":
			o.Root = next()
		case "rights":
			for right, digit := range next() {
				o.Rights |= uint64(digit-'0') << right
			}
		case "mount":
			o.Mounts = append(o.Mounts, Mount{MountKind(next()), next(), next(), next(), next(), next()})
		case "edit":
			o.Edits = append(o.Edits, Edit{next(), next()})
		default:
			flag := o.flags()[name]
			if flag == nil {
				return nil, errBadOrders
			}
			*flag = true
		}
	}
	if !ok {
		return nil, errBadOrders
	}
	return o, nil
}

// joinFields ends every field with a zero byte.
func joinFields(fields ...string) []byte {
	var text []byte
	for _, field := range fields {
		text = append(append(text, field...), 0)
	}
	return text
}

// splitFields undoes joinFields.
func splitFields(text []byte) []string {
	fields := slices.Collect(split(string(text), 0))
	return fields[:len(fields)-1] // nothing follows the last NUL
}
