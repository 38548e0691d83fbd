import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { hasRole } from '../../../../src/domain/roles.ts'
import { useMe } from '../../api/session.ts'
import { tableNamesQuery } from '../../api/tables.ts'
import type { Role } from '../../api/types.ts'
import { LineageIcon, OperationsIcon, SqlIcon, TablesIcon } from '../../components/icons.tsx'
import { quotedName } from '../../components/text/quoted-name.ts'
import type { Command, CommandSource } from '../../navigation.ts'
import { commands as words } from '../../strings/commands.ts'
import { operations } from '../../strings/everywhere/common.ts'
import { register } from '../../strings/table-actions.ts'
import { table as tableWords } from '../../strings/tables.ts'
import { useOpenObject } from '../../use-open-object.ts'
import type { ActionKind } from './actions/action-specs.ts'
import { offeredActions } from './actions/offered-actions.ts'
import { actionsInText } from './actions/actions-in-text.ts'
import { ACTION_CLOSED, TABLE_TABS, type TableTab, tabSearch } from './search.ts'

const ROLE_OF_ROWS: Role = 'DataEngineer'

/** Actions and views of the open table, and actions on any table that the text names. */
export const useTableCommands: CommandSource = (text) => {
  const open = useOpenObject('/tables/$table')
  const role = useMe()?.role
  const names = useQuery(tableNamesQuery).data
  return useMemo(
    () => ({
      here: open === undefined ? [] : commandsOf(open, role),
      anywhere: [
        ...actionsInText(text, names ?? [], offeredActions(role)).map(({ kind, table }) => actionOnOther(kind, table)),
        ...(canRead(role)
          ? [{ id: 'register', label: `${register.open} …`, icon: TablesIcon, to: '/tables?action=register' }]
          : []),
      ],
    }),
    [open, role, text, names],
  )
}

function canRead(role: Role | undefined): boolean {
  return role !== undefined && hasRole(role, ROLE_OF_ROWS)
}

function commandsOf(table: string, role: Role | undefined): readonly Command[] {
  const places: readonly Command[] = [
    { id: 'lineage', label: words.lineage, about: table, icon: LineageIcon, to: `/lineage?${query({ table })}` },
    {
      id: 'operations',
      label: words.operations,
      about: table,
      icon: OperationsIcon,
      to: `/operations?${query({ table })}`,
    },
  ]
  const sql = `SELECT * FROM ${quotedName(table)}`
  return [
    ...offeredActions(role).map((kind) => ({ ...lookOf(kind, table), search: { ...ACTION_CLOSED, action: kind } })),
    ...(canRead(role)
      ? [{ id: 'sql', label: words.sql, about: table, icon: SqlIcon, to: `/query?${query({ sql })}` }]
      : []),
    ...TABLE_TABS.filter((tab) => !READING_TABS.includes(tab) || canRead(role)).map((tab) => openTab(tab, table)),
    ...places,
  ]
}

/** Tabs that show values of rows. */
const READING_TABS: readonly TableTab[] = ['rows', 'statistics']

function openTab(tab: TableTab, table: string): Command {
  const search = { ...ACTION_CLOSED, ...tabSearch(tab), tab: tab === 'overview' ? '' : tab }
  return { id: `tab-${tab}`, label: words.open(tableWords.tabs[tab]), about: table, icon: TablesIcon, search }
}

function actionOnOther(kind: ActionKind, table: string): Command {
  return {
    ...lookOf(kind, table),
    id: `${kind} ${table}`,
    to: `/tables/${encodeURIComponent(table)}?${query({ action: kind })}`,
  }
}

function lookOf(kind: ActionKind, table: string) {
  const noun = operations.nouns[kind]
  return {
    id: kind,
    label: `${operations.names[kind] ?? kind} …`,
    about: table,
    icon: OperationsIcon,
    ...(noun === undefined ? {} : { also: words.preview(noun) }),
  }
}

function query(search: Readonly<Record<string, string>>): string {
  return new URLSearchParams(search).toString()
}
