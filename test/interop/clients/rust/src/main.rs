//! A client of an Iceberg REST catalog with iceberg-rust. It reads one JSON command per line and answers each with one
//! line, as `../go/main.go` describes. Arguments: the address of the catalog and a token.

use std::collections::HashMap;
use std::error::Error;
use std::io::BufRead;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use futures::TryStreamExt;
use iceberg::arrow::schema_to_arrow_schema;
use iceberg::io::LocalFsStorageFactory;
use iceberg::spec::{DataFileFormat, NestedField, PrimitiveType, Schema, Type};
use iceberg::transaction::{ApplyTransactionAction, Transaction};
use iceberg::writer::base_writer::data_file_writer::DataFileWriterBuilder;
use iceberg::writer::file_writer::ParquetWriterBuilder;
use iceberg::writer::file_writer::location_generator::{DefaultFileNameGenerator, DefaultLocationGenerator};
use iceberg::writer::file_writer::rolling_writer::RollingFileWriterBuilder;
use iceberg::writer::{IcebergWriter, IcebergWriterBuilder};
use iceberg::{Catalog, CatalogBuilder, NamespaceIdent, TableCreation, TableIdent};
use iceberg_catalog_rest::{REST_CATALOG_PROP_URI, RestCatalog, RestCatalogBuilder};
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

type Answer = Result<Value, Box<dyn Error>>;

const NAMESPACE: &str = "db";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let uri = arguments.next().ok_or("no address")?;
    let token = arguments.next().ok_or("no token")?;
    let properties = HashMap::from([
        (REST_CATALOG_PROP_URI.to_string(), uri),
        ("token".to_string(), token),
    ]);
    let catalog = RestCatalogBuilder::default()
        .with_storage_factory(Arc::new(LocalFsStorageFactory))
        .load("served", properties)
        .await?;
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(command) => run(&catalog, &command).await,
            Err(error) => Err(error.into()),
        };
        println!("{}", answer.unwrap_or_else(|error| json!({ "error": error.to_string() })));
    }
    Ok(())
}

async fn run(catalog: &RestCatalog, command: &Value) -> Answer {
    let table = TableIdent::from_strs([NAMESPACE, command["table"].as_str().unwrap_or_default()])?;
    match command["do"].as_str() {
        Some("list") => list(catalog).await,
        Some("create") => create(catalog, &table).await,
        Some("append") => {
            let first = command["first"].as_i64().ok_or("no first")?;
            let count = command["count"].as_i64().ok_or("no count")?;
            append(catalog, &table, (first..first + count).collect()).await
        }
        Some("rows") => rows(catalog, &table).await,
        other => Err(format!("no command {other:?}").into()),
    }
}

async fn list(catalog: &RestCatalog) -> Answer {
    let tables = catalog.list_tables(&NamespaceIdent::new(NAMESPACE.to_string())).await?;
    let names: Vec<&str> = tables.iter().map(|table| table.name()).collect();
    Ok(json!({ "tables": names }))
}

async fn create(catalog: &RestCatalog, table: &TableIdent) -> Answer {
    let namespace = table.namespace();
    if !catalog.namespace_exists(namespace).await? {
        catalog.create_namespace(namespace, HashMap::new()).await?;
    }
    let schema = Schema::builder()
        .with_fields(vec![
            NestedField::optional(1, "id", Type::Primitive(PrimitiveType::Long)).into(),
            NestedField::optional(2, "name", Type::Primitive(PrimitiveType::String)).into(),
        ])
        .build()?;
    // others commit at the same time
    let retries = HashMap::from([("commit.retry.num-retries".to_string(), "50".to_string())]);
    let creation = TableCreation::builder()
        .name(table.name().to_string())
        .schema(schema)
        .properties(retries)
        .build();
    catalog.create_table(namespace, creation).await?;
    Ok(json!({}))
}

async fn append(catalog: &RestCatalog, table: &TableIdent, ids: Vec<i64>) -> Answer {
    let table = catalog.load_table(table).await?;
    let metadata = table.metadata();
    let schema = metadata.current_schema().clone();
    let names: Vec<String> = ids.iter().map(|id| format!("n{id}")).collect();
    let batch = RecordBatch::try_new(
        Arc::new(schema_to_arrow_schema(&schema)?),
        vec![Arc::new(Int64Array::from(ids)), Arc::new(StringArray::from(names))],
    )?;
    let file_name = DefaultFileNameGenerator::new(uuid::Uuid::new_v4().to_string(), None, DataFileFormat::Parquet);
    let files = RollingFileWriterBuilder::new_with_default_file_size(
        ParquetWriterBuilder::new(WriterProperties::default(), schema),
        table.file_io().clone(),
        DefaultLocationGenerator::new(metadata)?,
        file_name,
    );
    let mut writer = DataFileWriterBuilder::new(files).build(None).await?;
    writer.write(batch).await?;
    let written = writer.close().await?;
    let transaction = Transaction::new(&table);
    let action = transaction.fast_append().add_data_files(written);
    action.apply(transaction)?.commit(catalog).await?;
    Ok(json!({}))
}

async fn rows(catalog: &RestCatalog, table: &TableIdent) -> Answer {
    let table = catalog.load_table(table).await?;
    let batches: Vec<RecordBatch> = table.scan().select(["id"]).build()?.to_arrow().await?.try_collect().await?;
    let mut ids = Vec::new();
    for batch in &batches {
        let column = batch.column(0).as_any().downcast_ref::<Int64Array>().ok_or("id is not a long")?;
        ids.extend(column.values().iter().copied());
    }
    Ok(json!({ "ids": ids }))
}
