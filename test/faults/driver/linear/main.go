// Judges histories of clients of Countersign with Porcupine: is there an order of the operations, each between its call and its end, in
// which every answer is right? An operation without a definite answer has no end, and may never have happened.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Call   int64  `json:"call"`
	End    *int64 `json:"end"`
	Input  string `json:"input"`
	Output string `json:"output"`
}

type report struct {
	Objects    map[string]int `json:"objects"`
	Operations map[string]int `json:"operations"`
	Illegal    []string       `json:"illegal"`
	Undecided  []string       `json:"undecided"`
}

const (
	unknown  = "unknown"
	patience = 20 * time.Second
)

var models = map[string]porcupine.Model{
	"challenge":   model(false, challenge),
	"idempotency": model("", idempotency),
	"refresh":     model(family{current: "t0"}, refresh),
	"claims":      model(false, claims),
}

// model makes a model whose step may have several outcomes.
func model(first any, step func(state any, input, output string) []any) porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{first} },
		Step: func(state, input, output any) []any { return step(state, input.(string), output.(string)) },
	}
	return nondeterministic.ToModel()
}

// challenge: it is redeemed once, and counts as used only after that.
func challenge(state any, _, output string) []any {
	used := state.(bool)
	switch output {
	case "redeemed":
		if used {
			return nil
		}
		return []any{true}
	case "challenge_used":
		if used {
			return []any{true}
		}
		return nil
	case unknown:
		return []any{used, true}
	}
	return []any{used}
}

// idempotency: all requests with one key have the answer of the first that was done; another request is refused after that.
func idempotency(state any, input, output string) []any {
	kept := state.(string)
	switch {
	case strings.HasPrefix(output, "id:") && (kept == "" || kept == input+" "+output || kept == input+" ?"):
		return []any{input + " " + output}
	case output == "reused" && kept != "" && !strings.HasPrefix(kept, input+" "):
		return []any{kept}
	case output == "in progress":
		return []any{kept}
	case output == unknown && kept == "":
		return []any{kept, input + " ?"}
	case output == unknown:
		return []any{kept}
	}
	return nil
}

// family is a refresh family: the token that can be used, the one before, and whether it has ended.
type family struct {
	current, previous string
	ended             bool
}

// refresh: a token is used once; its immediate repetition gets the same successor or is refused; any other use ends the family. After
// an answer that was lost the token that can be used is unknown: "?".
func refresh(state any, input, output string) []any {
	now := state.(family)
	ended := family{now.current, now.previous, true}
	isCurrent := now.current == input || now.current == "?"
	isPrevious := now.previous == input && now.previous != ""
	switch {
	case output == unknown:
		outcomes := []any{now}
		if !now.ended && isCurrent {
			outcomes = append(outcomes, family{"?", input, false})
		}
		if !now.ended && !(now.current == input) {
			outcomes = append(outcomes, ended)
		}
		return outcomes
	case output == "invalid_grant" && now.ended:
		return []any{now}
	case output == "invalid_grant" && (isPrevious || now.current == "?"):
		return []any{now, ended}
	case output == "invalid_grant" && !isCurrent:
		return []any{ended}
	case output == "invalid_grant":
		return nil
	case !strings.HasPrefix(output, "t"):
		return []any{now}
	case now.ended:
		return nil
	}
	var outcomes []any
	if isPrevious && (now.current == output || now.current == "?") {
		outcomes = append(outcomes, family{output, input, false})
	}
	if isCurrent && input != output {
		outcomes = append(outcomes, family{output, input, false})
	}
	return outcomes
}

// claims: no attempt of a delivery begins after its end.
func claims(state any, input, _ string) []any {
	ended := state.(bool)
	if input == "end" {
		return []any{true}
	}
	if ended {
		return nil
	}
	return []any{false}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var operations []operation
	if err := json.Unmarshal(text, &operations); err != nil {
		panic(err)
	}
	histories := map[[2]string][]operation{}
	for _, one := range operations {
		name := [2]string{one.Kind, one.Key}
		histories[name] = append(histories[name], one)
	}
	result := report{Objects: map[string]int{}, Operations: map[string]int{}, Illegal: []string{}, Undecided: []string{}}
	for name, history := range histories {
		result.Objects[name[0]]++
		result.Operations[name[0]] += len(history)
		switch porcupine.CheckOperationsTimeout(models[name[0]], toPorcupine(history), patience) {
		case porcupine.Illegal:
			result.Illegal = append(result.Illegal, describe(name, history))
		case porcupine.Unknown:
			result.Undecided = append(result.Undecided, describe(name, history))
		}
	}
	answer, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(answer))
}

func toPorcupine(history []operation) []porcupine.Operation {
	made := make([]porcupine.Operation, len(history))
	for index, one := range history {
		end := int64(math.MaxInt64)
		if one.End != nil {
			end = *one.End
		}
		made[index] = porcupine.Operation{ClientId: index, Input: one.Input, Output: one.Output, Call: one.Call, Return: end}
	}
	return made
}

func describe(name [2]string, history []operation) string {
	sort.Slice(history, func(a, b int) bool { return history[a].Call < history[b].Call })
	lines := []string{}
	for _, one := range history {
		end := "…"
		if one.End != nil {
			end = fmt.Sprint(*one.End / 1000)
		}
		lines = append(lines, fmt.Sprintf("%s→%s [%d, %s ms]", one.Input, one.Output, one.Call/1000, end))
	}
	if len(lines) > 40 {
		lines = lines[:40]
	}
	return fmt.Sprintf("%s %s: %s", name[0], name[1], strings.Join(lines, "; "))
}
