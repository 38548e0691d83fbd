import type { AuditEntry } from '../../../api/types.ts'
import type { ExportedColumn } from '../../../components/table/columns.ts'
import { auditStrings as strings } from '../../../strings/operations.ts'

/** What a file has of each entry of the audit log. */
export const EXPORTED: readonly ExportedColumn<AuditEntry>[] = [
  { id: 'seq', header: strings.entry.number, value: ({ seq }) => seq },
  { id: 'at', header: strings.columns.at, value: ({ at }) => at },
  { id: 'actor', header: strings.columns.actor, value: ({ actor }) => actor },
  { id: 'role', header: strings.entry.role, value: ({ role }) => role },
  { id: 'action', header: strings.columns.action, value: ({ action }) => action },
  { id: 'object_type', header: strings.entry.objectType, value: ({ object_type: type }) => type },
  { id: 'object_id', header: strings.entry.objectId, value: ({ object_id: id }) => id },
  { id: 'outcome', header: strings.columns.outcome, value: ({ outcome }) => outcome },
  { id: 'channel', header: strings.columns.channel, value: ({ channel }) => channel },
  { id: 'request_id', header: strings.entry.request, value: ({ request_id: id }) => id },
  { id: 'details', header: strings.entry.details, value: ({ details }) => JSON.stringify(details) },
  { id: 'hash', header: strings.entry.hash, value: ({ hash }) => hash },
]
