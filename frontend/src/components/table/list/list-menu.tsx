import { ActionIcon, Menu } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { lazy, Suspense, useContext } from 'react'
import { createPortal } from 'react-dom'
import { Link } from '@tanstack/react-router'
import { viewOf } from '../../../list-addresses.ts'
import { list as words } from '../../../strings/list.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { SettingsIcon } from '../../icons.tsx'
import { ListPlace } from '../../page/list-place.ts'
import type { ExportedColumn } from '../columns.ts'
import { copyLink } from './copy-link.ts'
import type { ExportFormat } from './export-rows.ts'
import classes from './list-menu.module.css'
import type { AllRows } from './list-options.ts'
import { useSavedViews } from './saved-views.ts'
import { formatHidden, hideableColumns, parseHidden, useShownColumns } from './shown-columns.ts'

const ViewsDialog = lazy(async () => ({ default: (await import('./views-dialog.tsx')).ViewsDialog }))

const FORMATS: readonly ExportFormat[] = ['csv', 'json']

interface ListMenuProps<Row> {
  readonly name: string
  /** All columns of the list. */
  readonly columns: readonly ExportedColumn<Row>[]
  /** Reads all rows in the order of the list. */
  readonly read: () => Promise<AllRows<Row>>
}

/** The menu of a list in the header of its page: saved views, link, columns and export. */
export function ListMenu<Row>(props: ListMenuProps<Row>) {
  const place = useContext(ListPlace)
  return place && createPortal(<MenuOfList {...props} />, place)
}

function MenuOfList<Row>({ name, columns, read }: ListMenuProps<Row>) {
  const shown = useShownColumns(columns)
  const { views } = useSavedViews(name)
  const [isManaging, dialog] = useDisclosure(false)
  const [search] = useSearchParams()
  const save = async (format: ExportFormat): Promise<void> => {
    const { exportList } = await import('./export-list.ts')
    await exportList(format, { name, columns: shown, read })
  }
  return (
    <>
      <Menu position="bottom-end" width={230}>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={words.menu} title={words.menu}>
            <SettingsIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown className={classes.menu ?? ''}>
          {views.length > 0 && <Menu.Label>{words.views}</Menu.Label>}
          {views.map((view) => (
            <Menu.Item key={view.name} renderRoot={(given) => <Link {...given} to="." search={view.search as never} />}>
              {view.name}
            </Menu.Item>
          ))}
          <Menu.Item onClick={dialog.open}>{views.length > 0 ? words.manage : words.save} …</Menu.Item>
          <Menu.Item onClick={() => copyLink(viewOf(search))}>{words.copyLink}</Menu.Item>
          <ColumnItems columns={columns} />
          <Menu.Label>{words.exports}</Menu.Label>
          {FORMATS.map((format) => (
            <Menu.Item key={format} onClick={() => void save(format)}>
              {words.formats[format]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {isManaging && (
        <Suspense fallback={null}>
          <ViewsDialog list={name} onClose={dialog.close} />
        </Suspense>
      )}
    </>
  )
}

function ColumnItems<Row>({ columns }: { readonly columns: readonly ExportedColumn<Row>[] }) {
  const [{ hide }, changeSearch] = useSearchParams()
  const hidden = parseHidden(hide)
  const toggle = (id: string): void => {
    const next = new Set(hidden)
    if (!next.delete(id)) next.add(id)
    changeSearch({ hide: formatHidden(next) })
  }
  return (
    <>
      <Menu.Label>{words.columns}</Menu.Label>
      {hideableColumns(columns).map(({ id, header }) => (
        <Menu.CheckboxItem key={id} checked={!hidden.has(id)} onChange={() => toggle(id)} closeMenuOnClick={false}>
          {header}
        </Menu.CheckboxItem>
      ))}
    </>
  )
}
