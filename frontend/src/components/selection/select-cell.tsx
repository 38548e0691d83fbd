import { Checkbox } from '@mantine/core'
import { useContext, useId } from 'react'
import { selection as words } from '../../strings/everywhere/selection.ts'
import { useRowTabIndex } from '../row-active.ts'
import classes from './selection.module.css'
import { MAX_SELECTED, SelectionOfList } from './selection.ts'

interface SelectCellProps {
  /** The key of the row in the selection. */
  readonly id: string
  readonly name: string
}

/** Selects a row of a list. */
export function SelectCell({ id, name }: SelectCellProps) {
  const selection = useContext(SelectionOfList)
  const tabIndex = useRowTabIndex()
  const boxId = useId()
  if (selection === undefined) return null
  const isSelected = selection.keys.has(id)
  const isFull = !isSelected && selection.keys.size >= MAX_SELECTED
  return (
    <label htmlFor={boxId} className={classes.select} title={isFull ? words.full(String(MAX_SELECTED)) : undefined}>
      <Checkbox
        id={boxId}
        aria-label={words.select(name)}
        tabIndex={tabIndex}
        checked={isSelected}
        disabled={isFull}
        onChange={() => selection.toggle(id)}
      />
    </label>
  )
}
