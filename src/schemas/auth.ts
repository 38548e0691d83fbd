import { z } from 'zod'
import { ROLES } from '../domain/roles.ts'

export const whoAmI = z
  .object({ user: z.string(), role: z.enum(ROLES), via: z.enum(['token', 'off']) })
  .meta({ id: 'WhoAmI' })
