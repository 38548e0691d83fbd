import { FORMAT_VERSION } from '../../../../src/domain/graph.ts'

/** A document to import, or the reason why it cannot be imported. */
export type ReadDocument =
  | { readonly kind: 'document'; readonly document: Readonly<Record<string, unknown>>; readonly name: string }
  | { readonly kind: 'not-json' | 'not-a-document' | 'newer'; readonly formatVersion?: number }

/** Checks the text of a file before it is sent; the service checks the rest. */
export function readDocument(text: string): ReadDocument {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'not-json' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'not-a-document' }
  const document = value as Readonly<Record<string, unknown>>
  const { format_version: formatVersion, name } = document
  if (typeof formatVersion !== 'number' || typeof name !== 'string') return { kind: 'not-a-document' }
  if (formatVersion > FORMAT_VERSION) return { kind: 'newer', formatVersion }
  return { kind: 'document', document, name }
}

/** A file name for an exported version. */
export function exportFileName(name: string, version: number): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
  return `${plain || 'pipeline'}-v${version}.json`
}
