import type { Command } from '../command.ts'
import { approvals, definitions, operations, pipelines } from './lists.ts'
import { compact, expire, removeOrphans, rewriteManifests } from './maintenance.ts'
import { health, tables } from './tables.ts'
import { token } from './tokens.ts'

/** The commands that call a service, by name. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  tables,
  health,
  compact,
  expire,
  'rewrite-manifests': rewriteManifests,
  'remove-orphans': removeOrphans,
  operations,
  pipelines,
  definitions,
  approvals,
  token,
}
