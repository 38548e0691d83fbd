import { sentenceOf } from '../../schemas/issues.ts'
import { listText } from '../text.ts'
import { parseDocuments, type SourceDocument } from './documents.ts'
import type { SourceFile } from './folder.ts'
import { findKind } from './kinds/all-kinds.ts'
import { type Described, type Kind, KIND_NAMES } from './kinds/kind.ts'
import type { FileProblem, Place } from './place.ts'

/** An object as the files describe it. */
export interface Wanted extends Described {
  readonly kind: Kind
  readonly place: Place
}

/** Objects of files, and what is wrong with the files. */
export interface WantedObjects {
  readonly wanted: readonly Wanted[]
  readonly problems: readonly FileProblem[]
}

/** Objects that files describe at most. */
export const MAX_OBJECTS = 10_000

/** The objects that files describe, each at most once. */
export function readWanted(files: readonly SourceFile[]): WantedObjects {
  const wanted = new Map<string, Wanted>()
  const problems: FileProblem[] = []
  for (const file of files) {
    const parsed = parseDocuments(file)
    problems.push(...parsed.problems)
    for (const document of parsed.documents) {
      if (wanted.size >= MAX_OBJECTS) {
        problems.push({ ...document.place, message: `files describe at most ${MAX_OBJECTS} objects` })
        return { wanted: [...wanted.values()], problems }
      }
      problems.push(...addDocument(wanted, document))
    }
  }
  return { wanted: [...wanted.values()], problems }
}

/** Adds what a document describes; returns its problems. */
function addDocument(wanted: Map<string, Wanted>, document: SourceDocument): readonly FileProblem[] {
  const { kind: name, ...fields } = document.value
  const kind = findKind(name)
  if (kind === undefined) {
    const message = `kind ${name === undefined ? 'is required' : 'is not known'}: write ${listText(KIND_NAMES)}`
    return [{ ...document.placeAt('kind'), message }]
  }
  const checked = kind.check(fields)
  if (!checked.success) {
    return checked.errors.map((error) => ({
      ...document.placeAt(error.path),
      message: `${kind.kind}: ${sentenceOf(error, 'the document')}`,
    }))
  }
  const { described } = checked
  const key = JSON.stringify([kind.kind, described.name])
  const other = wanted.get(key)
  if (other !== undefined) {
    const message = `${kind.kind} ${described.name} stands also in ${other.place.file}:${other.place.line}`
    return [{ ...document.placeAt('name'), message }]
  }
  wanted.set(key, { kind, ...described, place: document.place })
  return []
}
