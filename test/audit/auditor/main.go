// An auditor without any code of Countersign: verifies downloaded checkpoints and proofs of an audit log with libraries
// for signed notes and Merkle trees. It reads one JSON object from stdin, and ends with 1 at the first thing that is wrong.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// input is what an auditor has downloaded: answers of the API, as they are. Keys are those that the auditor trusts.
type input struct {
	Keys        []string `json:"keys"`
	Checkpoints []struct {
		TreeSize int64  `json:"tree_size"`
		Note     string `json:"note"`
	} `json:"checkpoints"`
	Inclusion []struct {
		Index    int64    `json:"index"`
		TreeSize int64    `json:"tree_size"`
		Entry    string   `json:"entry"`
		Hashes   []string `json:"hashes"`
		Note     string   `json:"note"`
	} `json:"inclusion"`
	Consistency []struct {
		From   int64    `json:"from"`
		To     int64    `json:"to"`
		Hashes []string `json:"hashes"`
		Note   string   `json:"note"`
	} `json:"consistency"`
	// Notes of tenants that were erased.
	Certificates []string `json:"certificates"`
}

// tree is what a note says.
type tree struct {
	origin string
	size   int64
	root   tlog.Hash
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fail("input: %v", err)
	}
	verifiers := make([]note.Verifier, len(in.Keys))
	for i, key := range in.Keys {
		verifier, err := note.NewVerifier(key)
		if err != nil {
			fail("key %s: %v", key, err)
		}
		verifiers[i] = verifier
	}
	known := note.VerifierList(verifiers...)
	trees := map[int64]tree{}
	for _, checkpoint := range in.Checkpoints {
		seen := open(checkpoint.Note, known)
		if seen.size != checkpoint.TreeSize {
			fail("checkpoint of %d rows: its note says %d", checkpoint.TreeSize, seen.size)
		}
		trees[seen.size] = seen
	}
	for _, p := range in.Inclusion {
		seen := open(p.Note, known)
		entry := bytes(p.Entry)
		leaf := tlog.RecordHash(entry)
		if err := tlog.CheckRecord(hashes(p.Hashes), seen.size, seen.root, p.Index, leaf); err != nil {
			fail("inclusion of entry %d: %v", p.Index, err)
		}
		err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(p.Index), uint64(seen.size),
			rfc6962.DefaultHasher.HashLeaf(entry), slices(p.Hashes), seen.root[:])
		if err != nil {
			fail("inclusion of entry %d: %v", p.Index, err)
		}
	}
	for _, p := range in.Consistency {
		seen := open(p.Note, known)
		before, ok := trees[p.From]
		if !ok || before.origin != seen.origin {
			fail("consistency from %d: no such checkpoint", p.From)
		}
		if err := tlog.CheckTree(hashes(p.Hashes), seen.size, seen.root, before.size, before.root); err != nil {
			fail("consistency from %d to %d: %v", p.From, p.To, err)
		}
		err := proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(before.size), uint64(seen.size),
			slices(p.Hashes), before.root[:], seen.root[:])
		if err != nil {
			fail("consistency from %d to %d: %v", p.From, p.To, err)
		}
	}
	for _, text := range in.Certificates {
		opened, err := note.Open([]byte(text), known)
		if err != nil {
			fail("certificate: %v", err)
		}
		tenant := strings.TrimPrefix(opened.Sigs[0].Name, "countersign/audit/")
		if !strings.HasPrefix(opened.Text, "countersign/erasure/"+tenant+"\n") {
			fail("certificate: its text is not that of an erasure")
		}
		fmt.Printf("verified the erasure of %s\n", tenant)
	}
	fmt.Printf("verified %d notes, %d inclusion proofs, %d consistency proofs\n",
		len(in.Checkpoints), len(in.Inclusion), len(in.Consistency))
}

// open verifies a note and reads its text.
func open(text string, known note.Verifiers) tree {
	opened, err := note.Open([]byte(text), known)
	if err != nil {
		fail("note: %v", err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != opened.Sigs[0].Name {
		fail("note: its text is not that of a checkpoint")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		fail("note: %v", err)
	}
	return tree{origin: lines[0], size: size, root: hash(lines[2])}
}

func hashes(texts []string) []tlog.Hash {
	list := make([]tlog.Hash, len(texts))
	for i, text := range texts {
		list[i] = hash(text)
	}
	return list
}

func slices(texts []string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = bytes(text)
	}
	return list
}

func hash(text string) tlog.Hash {
	read, err := tlog.ParseHash(text)
	if err != nil {
		fail("hash %q: %v", text, err)
	}
	return read
}

func bytes(text string) []byte {
	read, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		fail("base64 %q: %v", text, err)
	}
	return read
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}
