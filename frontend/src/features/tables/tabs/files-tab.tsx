import type { FileList, TableFile } from '../../../api/types.ts'
import { Copyable } from '../../../components/text/copyable.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { formatBytes, formatCount } from '../../../strings/everywhere/units.ts'
import { files as words } from '../../../strings/tables.ts'
import { filesQuery } from '../api.ts'
import { describePartition } from './field-text.ts'
import { PagedTable } from './paged-table.tsx'
import type { TabProps } from './tab-props.ts'
import { usePaged } from './use-paged.ts'

const filesOf = (page: FileList): readonly TableFile[] => page.files

/** Live data and delete files of the current snapshot. */
export function FilesTab({ table, search, onSearch }: TabProps) {
  const paged = usePaged(filesQuery(table), filesOf)
  return (
    <PagedTable
      list="files"
      label={words.label}
      empty={words.empty}
      paged={paged}
      rowKey={fileKey}
      columns={columns}
      search={search}
      onSearch={onSearch}
    />
  )
}

/** A Puffin file may hold deletion vectors of many data files. */
const fileKey = (file: TableFile): string => `${file.file_path} ${file.referenced_data_file ?? ''} ${file.content}`

const nameOf = ({ file_path: path }: TableFile): string => path.slice(path.lastIndexOf('/') + 1)

const columns: readonly ColumnSpec<TableFile>[] = [
  {
    id: 'path',
    header: words.columns.path,
    width: 'minmax(160px, 3fr)',
    sortValue: ({ file_path }) => file_path,
    cell: (file) => <Copyable text={file.file_path} shown={nameOf(file)} what={words.path} />,
  },
  {
    id: 'content',
    header: words.columns.content,
    width: '130px',
    hideOnPhone: true,
    sortValue: ({ content }) => content,
    cell: ({ content }) => <span>{words.contents[content]}</span>,
  },
  {
    id: 'partition',
    header: words.columns.partition,
    width: 'minmax(100px, 1.5fr)',
    hideOnPhone: true,
    sortValue: ({ partition }) => describePartition(partition),
    cell: ({ partition }) => <span title={describePartition(partition)}>{describePartition(partition)}</span>,
  },
  {
    id: 'rows',
    header: words.columns.rows,
    width: '88px',
    align: 'end',
    highFirst: true,
    sortValue: ({ record_count }) => record_count,
    cell: ({ record_count }) => <span>{formatCount(record_count)}</span>,
  },
  {
    id: 'size',
    header: words.columns.size,
    width: '88px',
    align: 'end',
    highFirst: true,
    sortValue: ({ file_size_in_bytes }) => file_size_in_bytes,
    cell: ({ file_size_in_bytes }) => <span>{formatBytes(file_size_in_bytes)}</span>,
  },
  {
    id: 'format',
    header: words.columns.format,
    width: '80px',
    hideOnPhone: true,
    sortValue: ({ file_format }) => file_format,
    cell: ({ file_format }) => <span>{file_format}</span>,
  },
  {
    id: 'sequence',
    header: words.columns.sequence,
    width: '88px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: ({ sequence_number }) => sequence_number,
    cell: ({ sequence_number }) => <span>{formatCount(sequence_number)}</span>,
  },
]
