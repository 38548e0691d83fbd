import { describe, expect, it } from 'vitest'
import { EXPIRY_DAYS, expiryOf, isUserName, tokenState } from '../../frontend/src/features/settings/token-state.ts'
import { readWebhookForm } from '../../frontend/src/features/settings/webhook-form.ts'
import { createTokenRequest } from '../../src/schemas/auth.ts'
import { createWebhookRequest } from '../../src/schemas/webhooks.ts'

const now = new Date('2026-11-20T10:00:00.000Z')

describe('a token', () => {
  it('is active until it expires or is revoked', () => {
    const token = (expires: string | null, revoked: string | null) => ({ expires_at: expires, revoked_at: revoked })
    expect(tokenState(token(null, null), now)).toBe('active')
    expect(tokenState(token('2026-11-20T10:00:00.001Z', null), now)).toBe('active')
    expect(tokenState(token('2026-11-20T10:00:00.000Z', null), now)).toBe('expired')
    expect(tokenState(token('2027-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'), now)).toBe('revoked')
  })

  it('is asked for with an end that the server takes', () => {
    for (const days of EXPIRY_DAYS) {
      const request = { user: 'ana', role: 'Auditor', name: 'x', expires_at: expiryOf(days, now) }
      expect(createTokenRequest.safeParse(request).success).toBe(true)
    }
    expect(expiryOf('7', now)).toBe('2026-11-27T10:00:00.000Z')
    expect(expiryOf('never', now)).toBeNull()
  })

  it('has the user names that the server takes', () => {
    for (const user of ['ana', 'a.b@c+d-e_f', 'x'.repeat(200), '', 'a b', 'ä', 'x'.repeat(201)]) {
      const isTaken = createTokenRequest.safeParse({ user, role: 'Auditor', name: 'x' }).success
      expect([user, isUserName(user)]).toEqual([user, isTaken])
    }
  })
})

describe('the webhook form', () => {
  it('makes requests that the server takes', () => {
    const draft = readWebhookForm(' https://hooks.example/a ', 'approval.requested, approval.*\n*')
    expect(draft).toEqual({
      kind: 'request',
      request: { url: 'https://hooks.example/a', types: ['approval.requested', 'approval.*', '*'] },
    })
    expect(draft.kind === 'request' && createWebhookRequest.safeParse(draft.request).success).toBe(true)
    expect(readWebhookForm('http://a', ' \n ')).toEqual({ kind: 'request', request: { url: 'http://a' } })
  })

  it('names what is wrong', () => {
    expect(readWebhookForm('ftp://a', 'Approval.*')).toEqual({ kind: 'problem', isUrlBad: true, badType: 'Approval.*' })
  })
})
