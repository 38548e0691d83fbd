import type { ListPage, ObjectStatus } from '../objects/object-store.ts'
import type { GoogleAnswer } from './client.ts'
import { GoogleError } from './error.ts'

/** The fields of an object's metadata that are requested. */
export const OBJECT_FIELDS = 'name,size,timeCreated,generation'

/** The status of an object in a response (JSON API, "Objects: get"). Throws a `GoogleError` if it is not one. */
export function readStatus(answer: GoogleAnswer): ObjectStatus {
  return statusIn(readJson(answer), answer)
}

/** A page of a list (JSON API, "Objects: list"). Throws a `GoogleError` if it is not one. */
export function readPage(answer: GoogleAnswer): ListPage {
  const { items = [], prefixes = [], nextPageToken } = readJson(answer)
  if (!Array.isArray(items) || !Array.isArray(prefixes)) throw unclear(answer)
  const files = items.map((item: unknown) => {
    const fields = asObject(item, answer)
    const { name } = fields
    if (typeof name !== 'string') throw unclear(answer)
    return { key: name, status: statusIn(fields, answer) }
  })
  const next = typeof nextPageToken === 'string' && nextPageToken !== '' ? nextPageToken : undefined
  return { files, folders: prefixes.map(String), next }
}

type Fields = Readonly<Record<string, unknown>>

/** The generation of an object changes with its content, and the time is that of the generation. */
function statusIn({ size, timeCreated, updated, generation }: Fields, answer: GoogleAnswer): ObjectStatus {
  const modifiedAtMs = Date.parse(String(timeCreated ?? updated))
  if (!/^\d{1,15}$/.test(String(size)) || Number.isNaN(modifiedAtMs)) throw unclear(answer)
  const status = { sizeBytes: Number(size), modifiedAtMs }
  return typeof generation === 'string' ? { ...status, revision: generation } : status
}

function readJson(answer: GoogleAnswer): Fields {
  try {
    return asObject(JSON.parse(new TextDecoder().decode(answer.bytes)), answer)
  } catch {
    throw unclear(answer)
  }
}

function asObject(value: unknown, answer: GoogleAnswer): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unclear(answer)
  return Object.fromEntries(Object.entries(value))
}

/** A good status with another body: a proxy answered, or the address is that of another service. */
function unclear({ status }: GoogleAnswer): GoogleError {
  return new GoogleError(status, 'unclearResponse')
}
