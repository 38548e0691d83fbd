// In the executable this is `@duckdb/node-bindings` (scripts/binary/build.ts).
import { join } from 'node:path'
import { native } from 'embedded:files'
import { nativeRoot } from './native-root.ts'
import { unpackNative } from './native-library.ts'

const { folder: root, isQuick } = nativeRoot()
const folder = unpackNative(root, native, { isQuick })
const loaded: { exports: object } = { exports: {} }
process.dlopen(loaded, join(folder, 'duckdb.node'))

// oxlint-disable-next-line import/no-default-export -- `@duckdb/node-api` reads it as a CommonJS module
export default loaded.exports
