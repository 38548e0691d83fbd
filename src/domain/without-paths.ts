/** What cannot stand in a path here: these end one in a sentence. */
const SEGMENT = '[^/\\s"\'`()<>,;]+'
/** A folder may hold spaces, but a sentence may not begin in it. */
const FOLDER = `${SEGMENT}(?:(?<![.:!?]) ${SEGMENT})*/+`
const OWN_ROUTES = '(?!(?:api|notebook|mcp)\\b)'
const PATH = new RegExp(
  `(?<![\\w/.:~%-])(?:(?:file|jdbc|sqlite):)*(?://localhost(?=/))?/+${OWN_ROUTES}(?:${FOLDER})*${SEGMENT}/?`,
  'gi',
)

/** What our own hints write for a path, as in `sqlite:///path`. */
const PLACEHOLDER = /^(?:[a-z]+:)*\/+path$/i

const TABLE_FILE = /\.(?:parquet|avro|orc|puffin)$/i
/** Folders between `data` and a data file: of a partition, or of the layout for object stores. */
const DATA_FOLDER = /=|^[01]{1,8}$/

/**
 * A text for users without the paths of this machine (docs/api.md#errors). Of an absolute path or `file:` URI stays
 * what users know: of a table's file `<table>/metadata/<file>` or `<table>/data/…/<file>`, of anything else the last
 * name. Locations in object stores, addresses and the service's own routes are none of this machine's paths.
 */
export function withoutPaths(text: string): string {
  return text.replace(PATH, (path) => {
    if (PLACEHOLDER.test(path)) return path
    const end = /[.:!?]+$/.exec(path)?.[0] ?? ''
    return `${shorten(path.slice(0, path.length - end.length))}${end}`
  })
}

function shorten(path: string): string {
  const names = path
    .replace(/^(?:[a-z]+:)*(?:\/\/localhost)?/i, '')
    .split('/')
    .filter((name) => name !== '')
  return names.slice(tableAt(names)).join('/')
}

/** Where the name of the table's folder stands, or that of the file when it is none of a table. */
function tableAt(names: readonly string[]): number {
  const file = names.length - 1
  if (file >= 2 && names[file - 1] === 'metadata') return file - 2
  const data = names.lastIndexOf('data')
  const isData = data > 0 && data < file && TABLE_FILE.test(names[file] ?? '')
  return isData && names.slice(data + 1, file).every((name) => DATA_FOLDER.test(name)) ? data - 1 : file
}
