import { IcebergError } from '../errors.ts'

/**
 * How a table property is treated: `honoured`: as in the reference implementation; `otherwise`: known, but handled in
 * another way with the same rows; `unused`: about work that the service does not do; `refused`: tables that set it are not
 * written to.
 */
export type Treatment = 'honoured' | 'otherwise' | 'unused' | 'refused'

export interface TableProperty {
  /** Its name; `*` at the end means any text. */
  readonly name: string
  readonly treatment: Treatment
  readonly note: string
  /** Whether it asks for encrypted files. */
  readonly encrypts?: true
}

/** Every table property that Iceberg's Java library knows and that concerns writing; `docs/table-properties.md` shows it. */
export const TABLE_PROPERTIES: readonly TableProperty[] = [
  entry('write.target-file-size-bytes', 'honoured', 'Size at which compaction and pipelines start a new file.'),
  entry('write.format.default', 'otherwise', 'New data files are Parquet; Avro is read, ORC is refused.'),
  entry(
    'write.parquet.compression-codec',
    'honoured',
    'zstd (default), gzip, snappy, lz4, lz4_raw, brotli, uncompressed, none; others are refused. lz4 means lz4_raw.',
  ),
  entry('write.parquet.compression-level', 'otherwise', 'For zstd, 1 by default; other codecs have one level.'),
  entry('write.parquet.row-group-size-bytes', 'honoured', 'Counted in rows by the size of rows in the input files.'),
  entry(
    'write.parquet.bloom-filter-enabled.column.*',
    'honoured',
    'All columns then get dictionaries, as only these have filters, and files grow. Refused for decimals of more than ' +
      '18 digits, and when a float column has both 0.0 and -0.0; boolean columns have none.',
  ),
  entry('write.parquet.bloom-filter-fpp.column.*', 'honoured', 'All columns use the smallest value.'),
  entry('write.parquet.bloom-filter-max-bytes', 'honoured', 'A filter that would be larger is refused.'),
  entry('write.parquet.bloom-filter-ndv.column.*', 'otherwise', 'Distinct values are counted.'),
  entry('write.parquet.stats-enabled.column.*', 'otherwise', 'Footers have statistics of all columns.'),
  entry('write.parquet.page-size-bytes', 'otherwise', 'The engine chooses the size of pages.'),
  entry('write.parquet.page-row-limit', 'otherwise', 'The engine chooses the size of pages.'),
  entry('write.parquet.page-version', 'honoured', 'v1 (default) or v2; others are refused.'),
  entry('write.parquet.dict-size-bytes', 'otherwise', 'The engine chooses the size of dictionaries.'),
  entry('write.parquet.dict-enabled.column.*', 'otherwise', 'The engine chooses which columns get a dictionary.'),
  entry('write.parquet.row-group-check-min-record-count', 'otherwise', 'Row groups are counted in rows.'),
  entry('write.parquet.row-group-check-max-record-count', 'otherwise', 'Row groups are counted in rows.'),
  entry('write.parquet.shred-variants', 'unused', 'Variants are copied as they are, not written.'),
  entry('write.parquet.variant-inference-buffer-size', 'unused', 'As above.'),
  entry('write.avro.*', 'unused', 'No Avro data files are written.'),
  entry('write.orc.*', 'unused', 'No ORC files are written.'),
  entry('write.metadata.metrics.default', 'honoured', 'Counts and bounds of new data files in manifests.'),
  entry('write.metadata.metrics.column.*', 'honoured', 'The same for one column.'),
  entry('write.metadata.metrics.max-inferred-column-defaults', 'honoured', 'Columns with metrics without a property.'),
  entry('write.metadata.path', 'honoured', 'Where manifests, manifest lists and metadata files go.'),
  entry('write.metadata.compression-codec', 'honoured', 'none (default) or gzip; others are refused.'),
  entry('write.metadata.previous-versions-max', 'honoured', 'Length of the metadata log.'),
  entry(
    'write.metadata.delete-after-commit.enabled',
    'honoured',
    'Metadata files that fall out of the log are deleted.',
  ),
  entry('write.manifest.compression-codec', 'otherwise', 'Manifests and their lists are compressed with deflate.'),
  entry('write.manifest.compression-level', 'otherwise', 'As above.'),
  entry('write.manifest-lists.enabled', 'otherwise', 'Snapshots have manifest lists, in format version 1 too.'),
  entry('write.summary.partition-limit', 'otherwise', 'Summaries of snapshots name no partitions.'),
  entry('write.data.path', 'honoured', 'Where data files go.'),
  entry('write.folder-storage.path', 'honoured', 'The same by its old name.'),
  entry('write.object-storage.enabled', 'honoured', 'Spreads data files over folders by hash.'),
  entry('write.object-storage.path', 'honoured', 'Where these folders are.'),
  entry('write.object-storage.partitioned-paths', 'honoured', 'Whether paths have partition folders too.'),
  entry('write.location-provider.impl', 'refused', 'Only its Java class knows where files belong.'),
  entry('write.distribution-mode', 'unused', 'Compaction keeps rows in the group of files that they come from.'),
  entry('write.delete.target-file-size-bytes', 'honoured', 'Size of merged position delete files; 64 MiB by default.'),
  entry(
    'write.delete.granularity',
    'honoured',
    'With partition, deletes of one data file are merged by partition too.',
  ),
  entry('write.delete.parquet.*', 'honoured', 'Codec, level, page version and row groups of position delete files.'),
  entry('write.delete.*', 'unused', 'About other delete files, which are not written.'),
  entry('write.update.*', 'unused', 'No rows are updated.'),
  entry('write.merge.*', 'unused', 'No rows are merged.'),
  entry('write.upsert.enabled', 'unused', 'About writers in Flink.'),
  entry('write.spark.*', 'unused', 'About writers in Spark.'),
  entry('write.wap.enabled', 'unused', 'Snapshots are published at once.'),
  entry('commit.manifest.target-size-bytes', 'honoured', 'Size of manifests.'),
  entry('commit.manifest.min-count-to-merge', 'unused', 'Manifests are merged by rewriting them, on request.'),
  entry('commit.manifest-merge.enabled', 'unused', 'As above.'),
  entry(
    'commit.retry.*',
    'honoured',
    'Attempts and waits after a conflict. Default for operations: 60 retries, from 50 ms to 1 s apart.',
  ),
  entry(
    'commit.status-check.*',
    'otherwise',
    'A commit of unknown outcome is looked up, and never assumed to have failed.',
  ),
  entry('history.expire.*', 'honoured', 'Defaults of expiry.'),
  entry('gc.enabled', 'honoured', 'false: no file is deleted.'),
  entry('schema.name-mapping.default', 'honoured', 'Names the columns of files without field ids; follows renames.'),
  entry('compatibility.snapshot-id-inheritance.enabled', 'otherwise', 'Entries of new manifests carry their ids.'),
  entry('encryption.data-key-length', 'unused', 'Asks for nothing without a key.'),
  { ...entry('encryption.*', 'refused', 'Files written here are not encrypted.'), encrypts: true },
  { ...entry('parquet.encryption.*', 'refused', 'As above.'), encrypts: true },
  { ...entry('parquet.crypto.*', 'refused', 'As above.'), encrypts: true },
]

function entry(name: string, treatment: Treatment, note: string): TableProperty {
  return { name, treatment, note }
}

/** How a property is treated; the entry with the longest name applies. Undefined for names unknown to Iceberg. */
export function tableProperty(name: string): TableProperty | undefined {
  const matches = TABLE_PROPERTIES.filter((known) =>
    known.name.endsWith('*') ? name.startsWith(known.name.slice(0, -1)) : name === known.name,
  )
  return matches.toSorted((a, b) => b.name.length - a.name.length)[0]
}

/** Refuses (`UNSUPPORTED`) to write files of a table with a property that cannot be honoured and must not be ignored. */
export function requireSupportedProperties(properties: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(properties)) {
    const known = tableProperty(name)
    if (known?.treatment !== 'refused') continue
    const why = known.note.replace(/\.$/, '')
    throw new IcebergError('UNSUPPORTED', `the table property ${name} cannot be honoured: ${why}; nothing was changed`)
  }
}
