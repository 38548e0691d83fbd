import { Checkbox } from '@mantine/core'
import { useContext, useId } from 'react'
import { useRowTabIndex } from '../../../components/row-active.ts'
import { bulk as words } from '../../../strings/bulk.ts'
import classes from './bulk.module.css'
import { MAX_SELECTED, SelectionOfList } from './selection.ts'

/** Selects the table of a row. */
export function SelectCell({ table }: { readonly table: string }) {
  const selection = useContext(SelectionOfList)
  const tabIndex = useRowTabIndex()
  const id = useId()
  if (selection === undefined) return null
  const isSelected = selection.tables.has(table)
  const isFull = !isSelected && selection.tables.size >= MAX_SELECTED
  return (
    <label htmlFor={id} className={classes.select} title={isFull ? words.full(String(MAX_SELECTED)) : undefined}>
      <Checkbox
        id={id}
        aria-label={words.select(table)}
        tabIndex={tabIndex}
        checked={isSelected}
        disabled={isFull}
        onChange={() => selection.toggle(table)}
      />
    </label>
  )
}
