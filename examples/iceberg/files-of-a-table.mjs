// Lists the data files of a table on disk, with the rows of each: `node files-of-a-table.mjs FILE.metadata.json`.
import { currentSchema, LocalFileIO, parseTableMetadata, planFiles } from 'lockhouse/iceberg'

const [metadataLocation = ''] = process.argv.slice(2)
const io = new LocalFileIO()
const metadata = parseTableMetadata(await io.read(metadataLocation))
const names = currentSchema(metadata).fields.map(({ name }) => name)
console.log(`${metadata.location}: ${names.join(', ')}`)

const table = { identifier: { namespace: [], name: '' }, metadataLocation, metadata, io }
let rows = 0
for (const { dataFile, deletes } of await planFiles(table)) {
  console.log(`${dataFile.filePath}: ${dataFile.recordCount} rows, ${deletes.length} delete files`)
  rows += dataFile.recordCount
}
console.log(`${rows} rows in data files`)
