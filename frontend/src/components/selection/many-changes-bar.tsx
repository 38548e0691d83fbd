import { Button } from '@mantine/core'
import { useState } from 'react'
import { ChangeManyDialog } from './change-many-dialog.tsx'
import type { NamedRow, OfferedChange } from './offered-change.ts'
import { SelectionBar } from './selection-bar.tsx'
import type { Selection } from './selection.ts'

interface ManyChangesBarProps<Row> {
  readonly label: string
  /** All rows of the list, in its order. */
  readonly rows: readonly Row[]
  readonly selection: Selection
  readonly changes: readonly OfferedChange<Row>[]
  /** The number of rows as text, such as `3 alerts`. */
  readonly counted: (count: number) => string
  /** Reads the list again after a change. */
  readonly onApplied: () => unknown
}

interface Asked<Row> {
  readonly change: OfferedChange<Row>
  readonly items: readonly Row[]
}

/** Offers changes of the selected rows, each with a confirmation and the result of each row. */
export function ManyChangesBar<Row extends NamedRow>(props: ManyChangesBarProps<Row>) {
  const { label, rows, selection, changes, counted, onApplied } = props
  const [asked, setAsked] = useState<Asked<Row>>()
  const ask = (change: OfferedChange<Row>): void =>
    setAsked({ change, items: rows.filter(({ id }) => selection.keys.has(id)) })
  return (
    <>
      <SelectionBar label={label} selection={selection} shown={rows.map(({ id }) => id)}>
        {changes.map((change) => (
          <Button key={change.words.action} variant="default" onClick={() => ask(change)}>
            {change.words.action}
          </Button>
        ))}
      </SelectionBar>
      {asked && (
        <ChangeManyDialog
          {...asked}
          title={asked.change.words.title(counted(asked.items.length))}
          onApplied={onApplied}
          onClose={(wasApplied) => {
            setAsked(undefined)
            if (wasApplied) selection.select([])
          }}
        />
      )}
    </>
  )
}
