import type { AuditEntry } from '../../api/types.ts'

/** The page of an object: a whole path with its search. */
export interface ObjectPage {
  readonly to: string
  readonly search?: Readonly<Record<string, string>>
}

const PAGES: Readonly<Record<string, (id: string, entry: Pick<AuditEntry, 'details'>) => ObjectPage | undefined>> = {
  table: (id) => ({ to: `/tables/${encodeURIComponent(id)}` }),
  operation: (id) => ({ to: `/operations/${encodeURIComponent(id)}` }),
  pipeline: (id) => ({ to: `/pipelines/${encodeURIComponent(id)}` }),
  definition: (id) => ({ to: `/definitions/${encodeURIComponent(id)}` }),
  version: (id, { details }) => {
    const definition = details['definition_id']
    if (typeof definition !== 'string') return undefined
    return { to: `/definitions/${encodeURIComponent(definition)}`, search: { version: id } }
  },
  approval: (id) => ({ to: `/approvals/${encodeURIComponent(id)}` }),
  token: () => ({ to: '/settings/tokens' }),
  grants: () => ({ to: '/settings/grants' }),
  alert: (id) => ({ to: '/settings/alerts', search: { alert: id } }),
  catalog: () => ({ to: '/settings/catalog' }),
  config: () => ({ to: '/settings/catalog' }),
}

/** Members of an entry's details that name its object for people, best first. */
const NAMES = ['name', 'table', 'definition_name', 'definition', 'user', 'sink_table']

/** What people call the object of an audit entry, such as `demo.trips` for an operation on this table; else its id or type. */
export function objectName({ object_type: type, object_id: id, details }: AuditEntry): string {
  const named = NAMES.map((name) => details[name]).find((value) => typeof value === 'string' && value !== '')
  return typeof named === 'string' ? named : (id ?? type)
}

/** Where the object of an audit entry is shown; undefined for those that have no page, such as sessions. */
export function objectPage(entry: Pick<AuditEntry, 'object_type' | 'object_id' | 'details'>): ObjectPage | undefined {
  const { object_type: type, object_id: id } = entry
  if (id === null || !Object.hasOwn(PAGES, type)) return undefined
  return PAGES[type]?.(id, entry)
}
