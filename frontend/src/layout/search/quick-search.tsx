import { VisuallyHidden } from '@mantine/core'
import { Spotlight, useSpotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.css'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { serviceAddress } from '../../base-path.ts'
import { tablesQuery } from '../../api/tables.ts'
import { findByName } from '../../components/text/find-by-name.ts'
import { SearchIcon, TablesIcon } from '../../components/icons.tsx'
import { formatCount } from '../../strings/everywhere/units.ts'
import type { Command, CommandSource, NavEntry } from '../../navigation.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { shell } from '../../strings/everywhere/shell.ts'
import classes from './quick-search.module.css'
import { isSearchAwaited } from './early-keys.ts'
import { quickSearch, SEARCH_FIELD, searchStore } from './search-store.ts'
import { useMyEntries } from '../use-my-entries.ts'

interface QuickSearchProps {
  readonly entries: readonly NavEntry[]
  /** Hooks that return commands; the same ones on every call. */
  readonly sources: readonly CommandSource[]
}

const SHOWN = 30
const LIST_ID = 'found'
const optionId = (index: number): string => `${LIST_ID}-${index}`

/**
 * Finds a table, a page or a command by name; arrow keys select, Enter opens. It opens as soon as it is loaded. Spotlight does not
 * announce the selected entry to screen readers, so the combobox roles are set here (WAI-ARIA, combobox pattern).
 */
export function QuickSearch({ entries, sources }: QuickSearchProps) {
  const start = useStart()
  const { query, opened } = useSpotlight(searchStore)
  const [chosen, listRef] = useChosen()
  const { found, more } = useFound({ entries, sources }, opened ? query : undefined)
  useEffect(() => {
    if (isSearchAwaited()) quickSearch.open()
  }, [])
  useEffect(() => {
    if (query !== '') selectFirst()
  }, [found, query])
  return (
    <Spotlight.Root
      store={searchStore}
      shortcut={null}
      centered={false}
      overlayProps={{}}
      yOffset="12dvh"
      maxHeight="60dvh"
      scrollable
      attributes={{ content: { 'aria-label': shell.searchLabel } }}
    >
      <Spotlight.Search
        id={SEARCH_FIELD}
        size="md"
        aria-label={shell.searchLabel}
        placeholder={shell.searchShort}
        leftSection={<SearchIcon />}
        role="combobox"
        aria-expanded
        aria-controls={LIST_ID}
        aria-activedescendant={chosen}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <Spotlight.ActionsList ref={listRef} id={LIST_ID} role="listbox" aria-label={shell.searchLabel}>
        {found.map((command, index) => (
          <Spotlight.Action
            key={command.key}
            className={classes.option}
            label={command.label}
            leftSection={<command.icon />}
            rightSection={command.about !== undefined && <span className={classes.about}>{command.about}</span>}
            onClick={() => start(command)}
            role="option"
            aria-selected={chosen === optionId(index)}
            renderRoot={(props) => <button type="button" {...props} id={optionId(index)} />}
          />
        ))}
      </Spotlight.ActionsList>
      {found.length === 0 && <Spotlight.Empty>{shell.searchEmpty}</Spotlight.Empty>}
      {more > 0 && <Spotlight.Footer className={classes.more}>{shell.searchMore(formatCount(more))}</Spotlight.Footer>}
      <VisuallyHidden role="status">{shell.searchFound(found.length + more)}</VisuallyHidden>
    </Spotlight.Root>
  )
}

/** Id of the chosen entry; Spotlight keeps it in an attribute of the entry only. The ref is for the list of entries. */
function useChosen() {
  const [chosen, setChosen] = useState<string>()
  const listRef = useCallback((list: HTMLDivElement) => {
    const observer = new MutationObserver(() => setChosen(list.querySelector('[data-selected]')?.id))
    observer.observe(list, { subtree: true, childList: true, attributeFilter: ['data-selected'] })
    return () => observer.disconnect()
  }, [])
  return [chosen, listRef] as const
}

/** Spotlight selects the first entry when a letter is typed; the entries may come later. */
function selectFirst(): void {
  const list = document.querySelector(`#${LIST_ID}`)
  if (list === null || list.querySelector('[data-selected]') !== null) return
  list.querySelector('[data-action]')?.setAttribute('data-selected', 'true')
  // without telling listeners: the list would be drawn again, and this be called again
  searchStore.updateState((state) => ({ ...state, selected: 0 }))
}

/** Opens what a command leads to. */
function useStart(): (command: Command) => void {
  const router = useRouter()
  const [, changeSearch] = useSearchParams()
  return (command) => {
    if ('run' in command) command.run()
    else if ('to' in command) router.history.push(serviceAddress(command.to))
    else changeSearch(command.search)
  }
}

const NOTHING = { found: [], more: 0 }

type FoundCommand = Command & { readonly key: string }

function useFound(
  { entries, sources }: QuickSearchProps,
  text: string | undefined,
): { found: readonly FoundCommand[]; more: number } {
  const mine = useMyEntries(entries)
  const tables = useQuery(tablesQuery).data
  // oxlint-disable-next-line react/rules-of-hooks -- the same hooks in the same order: the sources never change
  const lists = sources.map((useCommands) => useCommands(text ?? ''))
  const here = lists.flatMap((list, at) => list.here.map((command) => keyed(`here ${at}`, command)))
  const anywhere = lists.flatMap((list, at) => list.anywhere.map((command) => keyed(`anywhere ${at}`, command)))
  const places = useMemo(() => {
    const pages = mine.map(({ to, label, icon }) => keyed('page', { id: to, label, icon, to }))
    const names = (tables?.tables ?? []).map(({ table }) => keyed('table', tableCommand(table)))
    return { pages, names }
  }, [mine, tables])
  if (text === undefined) return NOTHING // while the search is closed, thousands of names are not searched
  const all = findByName([...here, ...places.pages, ...anywhere, ...places.names], text, searchText)
  return { found: all.slice(0, SHOWN), more: Math.max(0, all.length - SHOWN) }
}

function keyed(group: string, command: Command): FoundCommand {
  return { ...command, key: `${group} ${command.id}` }
}

function tableCommand(table: string): Command {
  return { id: table, label: table, icon: TablesIcon, to: `/tables/${encodeURIComponent(table)}` }
}

function searchText({ label, about = '', also = '' }: Command): string {
  return `${label} ${about} ${also}`
}
