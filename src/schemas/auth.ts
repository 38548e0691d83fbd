import { z } from 'zod'
import { ROLES, SIGN_INS } from '../domain/roles.ts'
import { timeInput, timestamp } from './common.ts'

export const whoAmI = z.object({ user: z.string(), role: z.enum(ROLES), via: z.enum(SIGN_INS) }).meta({ id: 'WhoAmI' })

export const openSessionRequest = z.strictObject({
  token: z.string().min(1).meta({ description: 'A Lockhouse token or a JWT of the configured issuer' }),
})

const userName = z.string().regex(/^[A-Za-z0-9_.@+-]{1,200}$/, 'must be 1 to 200 letters, digits or . @ + - _')

export const createTokenRequest = z.strictObject({
  user: userName,
  role: z.enum(ROLES),
  name: z.string().min(1).max(200),
  expires_at: timeInput
    .nullable()
    .optional()
    .meta({ description: 'In the future', example: '2036-01-01T00:00:00.000Z' }),
})

const tokenFields = {
  id: z.string(),
  user: z.string(),
  role: z.string(),
  name: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
}

export const createdToken = z
  .object({ ...tokenFields, token: z.string().meta({ description: 'Shown once, stored nowhere' }) })
  .meta({ id: 'CreatedToken' })

export const tokenList = z
  .array(z.object({ ...tokenFields, revoked_at: timestamp.nullable() }).meta({ id: 'Token' }))
  .meta({ id: 'TokenList' })

export const tokenParams = z.strictObject({ token_id: z.string().max(100) })
