import { z } from 'zod'
import { ROLES, SIGN_INS } from '../domain/roles.ts'
import { timeInput, timestamp } from './common.ts'

export const whoAmI = z
  .object({
    user: z.string(),
    role: z.enum(ROLES),
    via: z.enum(SIGN_INS),
    groups: z
      .array(z.string())
      .readonly()
      .optional()
      .meta({ description: 'At the identity provider; absent when the sign-in has none' }),
  })
  .meta({ id: 'WhoAmI' })

export const signInMethods = z
  .object({
    token: z.boolean().meta({ description: 'Whether users may sign in with a token' }),
    provider: z.boolean().meta({ description: 'Whether users may sign in at an identity provider' }),
  })
  .meta({ id: 'SignInMethods' })

export const loginQuery = z.strictObject({
  return_to: z.string().optional().meta({
    description: 'Path of this service to open afterwards, below its base path; any other address opens the first page',
    example: '/tables',
  }),
})

/** Providers add parameters of their own, such as `session_state`. */
export const callbackQuery = z.looseObject({
  state: z.string().optional(),
  code: z.string().optional(),
  iss: z.string().optional(),
  error: z.string().optional(),
})

export const deviceCode = z
  .object({
    device_code: z.string().meta({ description: 'A secret of the device that signs in' }),
    user_code: z.string(),
    verification_uri: z.string(),
    verification_uri_complete: z.string().optional(),
    expires_in: z.number().meta({ description: 'Seconds' }),
    interval: z.number().meta({ description: 'Seconds between two requests for the token' }),
  })
  .meta({ id: 'DeviceCode' })

export const deviceTokenRequest = z.strictObject({ device_code: z.string().min(1).max(2000) })

export const deviceToken = z
  .object({
    token: z.string().meta({ description: 'A bearer token that lasts as long as the session; shown once' }),
    user: z.string(),
    role: z.enum(ROLES),
  })
  .meta({ id: 'DeviceToken' })

export const devicePending = z
  .object({ slower_by: z.number().meta({ description: 'Seconds to add to the interval' }) })
  .meta({ id: 'DevicePending' })

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
