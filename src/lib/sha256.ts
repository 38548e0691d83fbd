import { hash } from 'node:crypto'

/** SHA-256, in hex, of bytes or of a text's UTF-8 bytes. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}
