import { z } from 'zod'
import { RUN_ENVIRONMENTS } from '../../domain/environments.ts'
import { ROLES } from '../../domain/roles.ts'
import { NO_CONTROL_CHARACTERS, tableName } from '../common.ts'

const MAX_GRANTS = 10_000
const MAX_GLOBS = 1000

const glob = z
  .string()
  .min(1)
  .max(1000)
  .regex(NO_CONTROL_CHARACTERS, 'must not contain control characters')
  .refine((text) => text.trim() === text, 'must not start or end with a space')

const role = z.enum(ROLES)
const environment = z.enum(RUN_ENVIRONMENTS)

/** A role on the tables that match, for a user or a group (docs/api.md#grants). */
export const grant = z
  .strictObject({
    principal: z
      .string()
      .max(300)
      // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
      .regex(/^(user|group):[^\u0000-\u001f\u007f-\u009f]{1,290}$/, 'must be user:NAME or group:NAME')
      .meta({ description: 'A user, or a group of the identity provider', example: 'group:analysts' }),
    role: role.meta({ description: 'The role on these tables. A caller never gets more than their own role' }),
    tables: z
      .array(glob)
      .min(1)
      .max(MAX_GLOBS)
      .meta({
        description: 'Table names. `*` stands for any characters, dots included; everything else for itself',
        example: ['sales.*'],
      }),
    except: z
      .array(glob)
      .max(MAX_GLOBS)
      .optional()
      .meta({
        description: 'Table names that the grant leaves out, as `tables`, in any case',
        example: ['sales.salaries'],
      }),
    environments: z.array(environment).min(1).optional().meta({
      description: 'Where the grant counts for moves and deployments of versions; default: in every environment',
    }),
  })
  .meta({ id: 'Grant' })

/** All grants, in the order in which they are written. */
export const grantList = z
  .array(grant)
  .max(MAX_GRANTS)
  .meta({ id: 'GrantList', description: 'Empty: every caller sees every table, with their own role' })

/** Query of GET /api/access. */
export const accessQuery = z
  .strictObject({
    user: z.string().min(1).max(290).optional(),
    group: z.string().min(1).max(290).optional().meta({ description: 'A group of the user, or a group alone' }),
    table: tableName,
    environment: environment.optional().meta({ description: 'The role for moves and deployments there' }),
  })
  .refine(({ user, group }) => user !== undefined || group !== undefined, {
    message: 'is required, or group',
    path: ['user'],
  })

export type AccessQuery = z.output<typeof accessQuery>

/** Why a user or group has a role on a table. */
export const accessAnswer = z
  .object({
    success: z.literal(true),
    table: z.string(),
    limited: z.boolean().meta({ description: 'False: there are no grants, and all tables exist for everybody' }),
    role: role.nullable().meta({
      description:
        'The highest role of `grants`; null: none matches. A user has at most their own role, and a LeadDataEngineer keeps all',
    }),
    grants: z.array(grant).meta({ description: 'The grants that match' }),
  })
  .meta({ id: 'Access' })
