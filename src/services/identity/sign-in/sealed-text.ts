import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'

/** Encrypts short texts for the state database. */
export interface SealedTexts {
  /** The text in a form that only this key opens, and only for this owner. */
  seal(text: string, owner: string): string
  /** Undefined: another key or another owner sealed the text. */
  open(sealed: string, owner: string): string | undefined
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * AES-256-GCM with a key that HKDF (RFC 5869) derives from a secret of the configuration, so that a copy of the state
 * database is not enough to read the texts (docs/adr/0027-sign-in.md). The owner is authenticated, not stored.
 */
export function createSealedTexts(secret: string, randomBytes: (length: number) => Uint8Array): SealedTexts {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'lockhouse refresh tokens', 32))
  return {
    seal(text, owner) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(owner))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
    open(sealed, owner) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      try {
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return undefined
      }
    },
  }
}
