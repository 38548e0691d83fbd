import { z } from 'zod'
import { WEEKDAYS } from '../domain/policies/calendar.ts'
import { WINDOW_KINDS } from '../domain/policies/change-windows.ts'

/** The name of a time zone; the service checks that it exists. */
export const timezone = z.string().min(1).max(100).meta({ description: 'IANA time zone', example: 'Europe/Berlin' })

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 22:30')

const windowFields = {
  timezone,
  days: z.array(z.enum(WEEKDAYS)).min(1).max(7),
  from: clockTime,
  to: clockTime,
}

/** When runs of a policy may start. */
export const policyWindow = z
  .strictObject(windowFields)
  .meta({ description: 'When runs may start. A window that ends before it begins ends on the next day' })

const DAY = '\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])'

const dates = z
  .array(z.string().regex(new RegExp(`^${DAY}(/${DAY})?$`), 'must be a date such as 2026-12-24, or first/last'))
  .min(1)
  .max(50)
  .meta({
    description: 'Only the days on these dates; a range is `first/last`; null: every date',
    example: ['2026-12-24/2027-01-02'],
  })

const changeFields = { kind: z.enum(WINDOW_KINDS), ...windowFields }

/** A window of an environment, which permits or forbids changes. */
export const changeWindow = z.strictObject({ ...changeFields, dates: dates.nullable() }).meta({ id: 'ChangeWindow' })

/** The same in a request. */
export const changeWindowRequest = z.strictObject({ ...changeFields, dates: dates.nullable().default(null) })
