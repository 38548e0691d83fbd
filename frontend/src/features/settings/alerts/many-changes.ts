import type { Alert } from '../../../api/types.ts'
import type { OfferedChange } from '../../../components/selection/offered-change.ts'
import { managedNotice } from '../../../strings/everywhere/managed.ts'
import { alertStrings } from '../../../strings/alerts.ts'
import { deleteAlert, silenceAlert } from './api.ts'
import { inAnHour, isSilenced } from './silence.ts'

const { silence, end, remove } = alertStrings.many

/** What a lead can do to many alerts at once. */
export const ALERT_CHANGES: readonly OfferedChange<Alert>[] = [
  {
    words: silence,
    leftOut: ({ silenced_until: until }) => (isSilenced(until) ? silence.already : undefined),
    apply: (alert) => silenceAlert(alert, inAnHour()),
  },
  {
    words: end,
    leftOut: ({ silenced_until: until }) => (isSilenced(until) ? undefined : end.already),
    apply: (alert) => silenceAlert(alert, null),
  },
  {
    words: remove,
    leftOut: managedNotice,
    apply: deleteAlert,
    isDestructive: true,
  },
]
