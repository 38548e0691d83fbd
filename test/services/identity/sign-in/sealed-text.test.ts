import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createSealedTexts } from '../../../../src/services/identity/sign-in/sealed-text.ts'

const sealed = createSealedTexts('a client secret', randomBytes)

it('a sealed text opens with the same secret and owner only', () => {
  const text = sealed.seal('refresh token ü', 'session 1')
  expect(sealed.open(text, 'session 1')).toBe('refresh token ü')
  expect(sealed.open(text, 'session 2')).toBeUndefined()
  expect(createSealedTexts('another secret', randomBytes).open(text, 'session 1')).toBeUndefined()
})

it('a sealed text that was changed does not open, whatever byte was changed', () => {
  const bytes = Buffer.from(sealed.seal('refresh token', 'me'), 'base64url')
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(sealed.open(changed.toString('base64url'), 'me')).toBeUndefined()
  }
  for (const text of ['', 'AAAA', '*']) expect(sealed.open(text, 'me')).toBeUndefined()
})

it('the same text is sealed differently each time, and is not readable', () => {
  const [one, other] = [sealed.seal('refresh token', 'me'), sealed.seal('refresh token', 'me')]
  expect(one).not.toBe(other)
  expect(Buffer.from(one, 'base64url').toString('latin1')).not.toContain('refresh')
})
