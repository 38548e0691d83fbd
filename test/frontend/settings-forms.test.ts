import { describe, expect, it } from 'vitest'
import { validateForm } from '../../frontend/src/components/form/form-schema.ts'
import { alertSchema, formOf } from '../../frontend/src/features/settings/alerts/alert-schema.ts'
import { tokenSchema } from '../../frontend/src/features/settings/tokens/token-schema.ts'
import { EXPIRY_DAYS, expiryOf, tokenState } from '../../frontend/src/features/settings/tokens/token-state.ts'

const now = new Date('2026-11-20T10:00:00.000Z')

describe('a token', () => {
  it('is active until it expires or is revoked', () => {
    const token = (expires: string | null, revoked: string | null) => ({ expires_at: expires, revoked_at: revoked })
    expect(tokenState(token(null, null), now)).toBe('active')
    expect(tokenState(token('2026-11-20T10:00:00.001Z', null), now)).toBe('active')
    expect(tokenState(token('2026-11-20T10:00:00.000Z', null), now)).toBe('expired')
    expect(tokenState(token('2027-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'), now)).toBe('revoked')
  })

  it('can be requested with every expiry that the form offers', () => {
    const form = { user: 'ana', role: 'Auditor', name: ' laptop ', proof: '' } as const
    for (const expires of EXPIRY_DAYS) expect(validateForm(tokenSchema(now), { ...form, expires })).toEqual({})
    expect(tokenSchema(now).parse({ ...form, expires: '7' })).toEqual({
      user: 'ana',
      role: 'Auditor',
      name: 'laptop',
      expires_at: '2026-11-27T10:00:00.000Z',
    })
    expect(expiryOf('never', now)).toBeNull()
  })

  it('requires a user name that the server accepts, and a description', () => {
    const errorsOf = (user: string, name: string) =>
      validateForm(tokenSchema(now), { user, name, role: 'Auditor', expires: '90', proof: '' })
    for (const user of ['ana', 'a.b@c+d-e_f', 'x'.repeat(200)]) expect(errorsOf(user, 'x')).toEqual({})
    for (const user of ['a b', 'ä', 'x'.repeat(201)]) {
      expect(errorsOf(user, 'x')).toEqual({ user: 'Must be 1 to 200 letters, digits or . @ + - _.' })
    }
    expect(errorsOf('', ' ')).toEqual({
      user: 'Must be 1 to 200 letters, digits or . @ + - _.',
      name: 'Required.',
    })
  })
})

describe('the form of an alert with a signed channel', () => {
  const form = (events: string, url = ' https://hooks.example/a ') => {
    const empty = formOf(undefined)
    return {
      ...empty,
      name: 'chat',
      events,
      cooldown: '',
      channel: { ...empty.channel, type: 'webhook' as const, url },
    }
  }

  it('makes a request without cooldown, so that each event is sent', () => {
    expect(alertSchema.parse(form('approval.requested, approval.*\n*'))).toEqual({
      name: 'chat',
      events: ['approval.requested', 'approval.*', '*'],
      channel: { type: 'webhook', url: 'https://hooks.example/a' },
    })
  })

  it('names the invalid field', () => {
    expect(Object.keys(validateForm(alertSchema, form('*', '')))).toEqual(['channel.url'])
    const problem = Object.values(validateForm(alertSchema, form('table.sick'))).join()
    expect(problem).toMatch(/^No event has the type table\.sick; .*table\.unhealthy/)
  })
})
