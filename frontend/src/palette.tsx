import { useDefinitionCommands } from './features/designer/commands.ts'
import { useOperationCommands } from './features/operations/commands.ts'
import { usePipelineCommands } from './features/pipelines/commands.ts'
import { usePolicyCommands } from './features/policies/commands.ts'
import { useSettingsCommands } from './features/settings/commands.ts'
import { useTableCommands } from './features/tables/commands.ts'
import { QuickSearch } from './layout/search/quick-search.tsx'
import { useShellCommands } from './layout/shell-commands.ts'
import type { CommandSource, NavEntry } from './navigation.ts'

/** The hooks never change, and run in this order. */
const SOURCES: readonly CommandSource[] = [
  useTableCommands,
  usePipelineCommands,
  usePolicyCommands,
  useDefinitionCommands,
  useOperationCommands,
  useSettingsCommands,
  useShellCommands,
]

/** The quick search with the commands of all features; loaded when it is first opened. */
export function Palette({ entries }: { readonly entries: readonly NavEntry[] }) {
  return <QuickSearch entries={entries} sources={SOURCES} />
}
