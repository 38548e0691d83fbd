import { notifications } from '@mantine/notifications'
import { list as words } from '../../../strings/list.ts'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { errorText } from '../../status/states.tsx'
import { saveFile } from '../../text/save-file.ts'
import type { ExportedColumn } from '../columns.ts'
import { type ExportFormat, exportText } from './export-rows.ts'
import type { AllRows } from './list-options.ts'

const TYPES = { csv: 'text/csv', json: 'application/json' } as const

interface ExportOptions<Row> {
  readonly name: string
  readonly columns: readonly ExportedColumn<Row>[]
  /** Reads the rows in the order of the list. */
  readonly read: () => Promise<AllRows<Row>>
}

/** Saves the rows of a list as a file, and reports how many there are; an error is reported too. */
export async function exportList<Row>(
  format: ExportFormat,
  { name, columns, read }: ExportOptions<Row>,
): Promise<void> {
  const file = `${name}.${format}`
  const id = notifications.show({ message: words.reading, loading: true, autoClose: false })
  const report = (message: string, color: 'teal' | 'yellow' | 'red'): void =>
    void notifications.update({ id, message, color, loading: false, autoClose: color === 'teal' ? 4000 : false })
  try {
    const { rows, isCut } = await read()
    saveFile(file, TYPES[format], exportText(format, columns, rows))
    const count = formatPlural(rows.length, 'row')
    if (isCut) report(words.cut(count, file), 'yellow')
    else report(words.exported(count, file), 'teal')
  } catch (error) {
    report(words.failed(errorText(error)), 'red')
  }
}
