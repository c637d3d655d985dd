// Reads each example by the generated type of its event, writes it again, and prints how many came back as they were,
// and how many did not.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"time"
)

type example struct {
	Name    string          `json:"name"`
	Example json.RawMessage `json:"example"`
}

// Members that the type does not have are refused.
func rewrite(sent example) ([]byte, error) {
	event := types[sent.Name]()
	decoder := json.NewDecoder(bytes.NewReader(sent.Example))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(event); err != nil {
		return nil, err
	}
	return json.Marshal(event)
}

// Reads JSON for a comparison: times are equal whose instants are.
func read(text []byte) any {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return normalize(value)
}

func normalize(value any) any {
	switch found := value.(type) {
	case map[string]any:
		for name, member := range found {
			found[name] = normalize(member)
		}
	case []any:
		for index, member := range found {
			found[index] = normalize(member)
		}
	case string:
		if at, err := time.Parse(time.RFC3339Nano, found); err == nil {
			return at.UnixNano()
		}
	}
	return value
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var examples []example
	if err := json.Unmarshal(text, &examples); err != nil {
		panic(err)
	}
	passed, failed := 0, 0
	for _, sent := range examples {
		written, err := rewrite(sent)
		if err == nil && reflect.DeepEqual(read(sent.Example), read(written)) {
			passed++
		} else {
			failed++
			fmt.Println(sent.Name, err, string(written))
		}
	}
	fmt.Println(passed, failed)
}
