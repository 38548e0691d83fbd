import { type Document, isMap, isNode, LineCounter, parseAllDocuments, visit } from 'yaml'
import type { FileProblem, Place } from './place.ts'
import type { SourceFile } from './folder.ts'

/** One document of a file. */
export interface SourceDocument {
  readonly value: Readonly<Record<string, unknown>>
  readonly place: Place
  /** The place of a member by its path such as `operations.0.operation`, or of the nearest one around it. */
  readonly placeAt: (path: string) => Place
}

/** The documents of a file, without empty ones, and what is wrong with others. */
export interface ParsedFile {
  readonly documents: readonly SourceDocument[]
  readonly problems: readonly FileProblem[]
}

/**
 * Reads a stream of YAML 1.2 documents (core schema), of which JSON is a part. Values that JSON cannot express, and numbers
 * that lose digits, are problems.
 */
export function parseDocuments({ name: file, text }: SourceFile): ParsedFile {
  const lines = new LineCounter()
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true, resolveKnownTags: false } as const
  const place = (offset: number): Place => ({ file, line: lines.linePos(offset).line || 1 })
  const found = parseAllDocuments(text, options)
  const documents: SourceDocument[] = []
  const problems: FileProblem[] = []
  for (const document of Array.isArray(found) ? found : []) {
    const wrong = [...syntaxProblems(document), ...numberProblems(document)]
    for (const { at, message } of wrong) problems.push({ ...place(at), message })
    if (wrong.length > 0 || isBlank(document)) continue
    const [start = 0] = document.contents?.range ?? []
    const value = plainValue(document)
    if (value === undefined) problems.push({ ...place(start), message: 'the document must be a map of fields' })
    else documents.push({ value, place: place(start), placeAt: (path) => place(offsetAt(document, path) ?? start) })
  }
  return { documents, problems }
}

interface Wrong {
  readonly at: number
  readonly message: string
}

function syntaxProblems({ errors, warnings }: Document): readonly Wrong[] {
  return [...errors, ...warnings].map(({ pos, message }) => ({ at: pos[0], message: `is not valid YAML: ${message}` }))
}

function numberProblems(document: Document): readonly Wrong[] {
  const wrong: Wrong[] = []
  visit(document, {
    Scalar(_, { value, range, source }) {
      if (typeof value !== 'number' || (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)))
        return
      wrong.push({ at: range?.[0] ?? 0, message: `the number ${source ?? value} is not exact: write it in quotes` })
    },
  })
  return wrong
}

function isBlank({ contents }: Document): boolean {
  return contents === null || ('value' in contents && contents.value === null)
}

/** Undefined for anything but a map that JSON can express: aliases can repeat too much, or contain themselves. */
function plainValue(document: Document): Readonly<Record<string, unknown>> | undefined {
  if (!isMap(document.contents)) return undefined
  try {
    return JSON.parse(JSON.stringify(document.toJS()))
  } catch {
    return undefined
  }
}

function offsetAt(document: Document, path: string): number | undefined {
  const parts = path === '' ? [] : path.split('.')
  for (let length = parts.length; length > 0; length--) {
    const node = document.getIn(parts.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return undefined
}
