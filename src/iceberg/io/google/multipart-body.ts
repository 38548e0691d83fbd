import { randomUUID } from 'node:crypto'

const LINE = '\r\n'
const TYPE = 'application/octet-stream'

/**
 * The body of an upload in one request (Cloud Storage, "Uploads": multipart): metadata, then the content. The client libraries of
 * Google send it for small objects. Some emulators ignore the preconditions of other uploads in one request.
 */
export function multipartBody(content: Uint8Array): {
  readonly type: string
  readonly body: Uint8Array<ArrayBuffer>
} {
  const boundary = `part-${randomUUID()}`
  const part = (type: string): string => `--${boundary}${LINE}Content-Type: ${type}${LINE}${LINE}`
  const metadata = JSON.stringify({ contentType: TYPE })
  const head = Buffer.from(`${part('application/json; charset=UTF-8')}${metadata}${LINE}${part(TYPE)}`)
  const tail = Buffer.from(`${LINE}--${boundary}--`)
  const body = new Uint8Array(head.length + content.length + tail.length)
  body.set(head)
  body.set(content, head.length)
  body.set(tail, head.length + content.length)
  return { type: `multipart/related; boundary=${boundary}`, body }
}
