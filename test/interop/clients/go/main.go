// A client of an Iceberg REST catalog with iceberg-go. It reads one JSON command per line and answers each with one line:
//
//	{"do":"list"}                                 {"tables":["t"]}
//	{"do":"create","table":"t"}                   {}
//	{"do":"append","table":"t","first":0,"count":9} {}
//	{"do":"rows","table":"t"}                     {"ids":[0,1]}
//
// All tables are in the namespace "db" and have the columns id and name. A failed command is answered with {"error":"…"}.
// Arguments: the address of the catalog and a token.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
)

const namespace = "db"

type command struct {
	Do    string
	Table string
	First int64
	Count int64
}

type answer struct {
	Tables []string `json:"tables,omitempty"`
	IDs    []int64  `json:"ids,omitempty"`
	Error  string   `json:"error,omitempty"`
}

func main() {
	ctx := context.Background()
	cat, err := rest.NewCatalog(ctx, "served", os.Args[1], rest.WithOAuthToken(os.Args[2]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var c command
		reply := answer{}
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			reply, err = run(ctx, cat, c)
		}
		if err != nil {
			reply = answer{Error: err.Error()}
		}
		if err := out.Encode(reply); err != nil {
			os.Exit(1)
		}
	}
}

func run(ctx context.Context, cat *rest.Catalog, c command) (answer, error) {
	switch c.Do {
	case "list":
		return list(ctx, cat)
	case "create":
		return answer{}, create(ctx, cat, c.Table)
	case "append":
		return answer{}, add(ctx, cat, c)
	case "rows":
		return rows(ctx, cat, c.Table)
	}
	return answer{}, fmt.Errorf("no command %q", c.Do)
}

func list(ctx context.Context, cat *rest.Catalog) (answer, error) {
	var found answer
	for identifier, err := range cat.ListTables(ctx, table.Identifier{namespace}) {
		if err != nil {
			return answer{}, err
		}
		found.Tables = append(found.Tables, identifier[len(identifier)-1])
	}
	return found, nil
}

func create(ctx context.Context, cat *rest.Catalog, name string) error {
	err := cat.CreateNamespace(ctx, table.Identifier{namespace}, nil)
	if err != nil && !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return err
	}
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: "name", Type: iceberg.PrimitiveTypes.String})
	// others commit at the same time
	retries := catalog.WithProperties(iceberg.Properties{"commit.retry.num-retries": "50"})
	_, err = cat.CreateTable(ctx, table.Identifier{namespace, name}, schema, retries)
	return err
}

func add(ctx context.Context, cat *rest.Catalog, c command) error {
	tbl, err := cat.LoadTable(ctx, table.Identifier{namespace, c.Table})
	if err != nil {
		return err
	}
	schema, err := table.SchemaToArrowSchema(tbl.Schema(), nil, true, false)
	if err != nil {
		return err
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for id := c.First; id < c.First+c.Count; id++ {
		builder.Field(0).(*array.Int64Builder).Append(id)
		builder.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("n%d", id))
	}
	record := builder.NewRecordBatch()
	defer record.Release()
	arrowTable := array.NewTableFromRecords(schema, []arrow.RecordBatch{record})
	defer arrowTable.Release()
	_, err = tbl.AppendTable(ctx, arrowTable, c.Count, nil)
	return err
}

func rows(ctx context.Context, cat *rest.Catalog, name string) (answer, error) {
	tbl, err := cat.LoadTable(ctx, table.Identifier{namespace, name})
	if err != nil {
		return answer{}, err
	}
	_, batches, err := tbl.Scan(table.WithSelectedFields("id")).ToArrowRecords(ctx)
	if err != nil {
		return answer{}, err
	}
	found := answer{}
	for batch, err := range batches {
		if err != nil {
			return answer{}, err
		}
		found.IDs = append(found.IDs, batch.Column(0).(*array.Int64).Int64Values()...)
		batch.Release()
	}
	return found, nil
}
