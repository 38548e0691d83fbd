import { ActionIcon, Button, Input, TextInput } from '@mantine/core'
import { ArrowDownIcon, ArrowUpIcon, CloseIcon, PlusIcon } from '../../../components/icons.tsx'
import { designerStrings } from '../../../strings/designer.ts'
import { type ConfigField, withValue } from './config-fields.ts'
import type { ConfigInputProps } from './config-input-props.ts'
import classes from '../designer.module.css'

const words = designerStrings.form
type Row = Readonly<Record<string, unknown>>

/** A list of objects, each a row of short texts that can be added, moved and removed. */
export function RowsField(props: ConfigInputProps & { readonly fields: readonly ConfigField[] }) {
  const { field, value, fields, readOnly, onChange } = props
  const rows = Array.isArray(value) ? (value as readonly Row[]) : []
  const swap = (at: number, to: number): void => {
    const next = [...rows]
    const [row] = next.splice(at, 1)
    if (row) next.splice(to, 0, row)
    onChange(next)
  }
  const put = (at: number, row: Row): void => onChange(rows.map((other, n) => (n === at ? row : other)))
  return (
    <Input.Wrapper
      label={field.label}
      description={field.description}
      withAsterisk={field.isRequired}
      labelElement="div"
    >
      <ol className={classes.rows}>
        {rows.map((row, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- rows have no stable keys
          <li key={at} className={classes.rowItem}>
            <RowInputs row={row} at={at} fields={fields} readOnly={readOnly} onChange={(next) => put(at, next)} />
            {!readOnly && (
              <RowTools
                at={at}
                count={rows.length}
                onMove={(to) => swap(at, to)}
                onRemove={() => onChange(rows.filter((_, n) => n !== at))}
              />
            )}
          </li>
        ))}
      </ol>
      {!readOnly && (
        <Button
          variant="default"
          size="compact-xs"
          leftSection={<PlusIcon size={12} />}
          onClick={() => onChange([...rows, {}])}
        >
          {words.addRow(field.label)}
        </Button>
      )}
    </Input.Wrapper>
  )
}

interface RowInputsProps {
  readonly row: Row
  /** Position of the row in the list, from 0. */
  readonly at: number
  readonly fields: readonly ConfigField[]
  readonly readOnly: boolean
  readonly onChange: (row: Row) => void
}

function RowInputs({ row, at, fields, readOnly, onChange }: RowInputsProps) {
  return (
    <div className={classes.rowFields}>
      {fields.map((one) => (
        <TextInput
          key={one.name}
          aria-label={words.row(one.label, at + 1)}
          placeholder={one.isRequired ? one.label : `${one.label}, ${words.optional}`}
          classNames={{ input: classes.code ?? '' }}
          spellCheck={false}
          readOnly={readOnly}
          value={typeof row[one.name] === 'string' ? String(row[one.name]) : ''}
          onChange={({ currentTarget }) => onChange(withValue(row, one.name, currentTarget.value))}
        />
      ))}
    </div>
  )
}

interface RowToolsProps {
  /** Position of the row in the list, from 0. */
  readonly at: number
  readonly count: number
  readonly onMove: (to: number) => void
  readonly onRemove: () => void
}

function RowTools({ at, count, onMove, onRemove }: RowToolsProps) {
  return (
    <span className={classes.rowTools}>
      <ActionIcon size={24} aria-label={words.moveUp(at + 1)} disabled={at === 0} onClick={() => onMove(at - 1)}>
        <ArrowUpIcon size={12} />
      </ActionIcon>
      <ActionIcon
        size={24}
        aria-label={words.moveDown(at + 1)}
        disabled={at === count - 1}
        onClick={() => onMove(at + 1)}
      >
        <ArrowDownIcon size={12} />
      </ActionIcon>
      <ActionIcon size={24} aria-label={words.removeRow(at + 1)} onClick={onRemove}>
        <CloseIcon size={12} />
      </ActionIcon>
    </span>
  )
}
