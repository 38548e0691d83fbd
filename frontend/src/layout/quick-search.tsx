import { Modal, TextInput, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { tablesQuery } from '../api/tables.ts'
import { SearchIcon, TablesIcon } from '../components/icons.tsx'
import { formatCount } from '../components/units.ts'
import type { NavEntry } from '../navigation.ts'
import { shell } from '../strings/shell.ts'
import { findByName } from '../components/find-by-name.ts'
import classes from './quick-search.module.css'
import { useMyEntries } from './use-my-entries.ts'

interface Found {
  readonly key: string
  readonly label: string
  readonly icon: NavEntry['icon']
  readonly path: string
}

interface QuickSearchProps {
  readonly entries: readonly NavEntry[]
  readonly onClose: () => void
}

const SHOWN = 30

/** Finds a table or a page by its name; arrow keys choose, Enter goes there. */
export function QuickSearch({ entries, onClose }: QuickSearchProps) {
  const router = useRouter()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { found, more } = useFound(entries, text)
  const list = useRef<HTMLDivElement>(null)
  const current = Math.min(chosen, found.length - 1)
  useEffect(() => {
    list.current?.querySelector(`[id="found-${current}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [current])
  const go = (one: Found | undefined): void => {
    if (one === undefined) return
    onClose()
    router.history.push(one.path)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen(Math.max(0, Math.min(current + step, found.length - 1)))
    else if (event.key === 'Enter') go(found[current])
    else return
    event.preventDefault()
  }
  return (
    <Modal.Root opened onClose={onClose} yOffset="12dvh" centered={false}>
      <Modal.Overlay />
      <Modal.Content aria-label={shell.searchLabel}>
        <Modal.Body>
          <TextInput
            size="sm"
            aria-label={shell.searchLabel}
            placeholder={shell.searchShort}
            leftSection={<SearchIcon />}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value)
              setChosen(0)
            }}
            onKeyDown={onKeyDown}
            role="combobox"
            aria-expanded
            aria-controls="found"
            aria-activedescendant={found.length > 0 ? `found-${current}` : undefined}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
          <div ref={list} id="found" className={classes.list} role="listbox" aria-label={shell.searchLabel}>
            {found.map((one, index) => (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the input above takes the keys
              <div
                key={one.key}
                id={`found-${index}`}
                className={classes.option}
                role="option"
                tabIndex={-1}
                aria-selected={index === current}
                onClick={() => go(one)}
              >
                <one.icon />
                {one.label}
              </div>
            ))}
          </div>
          {found.length === 0 && <p className={classes.note}>{shell.searchEmpty}</p>}
          {more > 0 && <p className={classes.note}>{shell.searchMore(formatCount(more))}</p>}
          <VisuallyHidden role="status">{shell.searchFound(found.length + more)}</VisuallyHidden>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

function useFound(entries: readonly NavEntry[], text: string): { found: readonly Found[]; more: number } {
  const mine = useMyEntries(entries)
  const tables = useQuery(tablesQuery).data
  return useMemo(() => {
    const pages = mine.map(({ to, label, icon }) => ({ key: to, label, icon, path: to }))
    const places = (tables?.tables ?? []).map(({ table }) => ({
      key: table,
      label: table,
      icon: TablesIcon,
      path: `/tables/${encodeURIComponent(table)}`,
    }))
    const all = findByName([...pages, ...places], text, ({ label }) => label)
    return { found: all.slice(0, SHOWN), more: Math.max(0, all.length - SHOWN) }
  }, [mine, tables, text])
}
