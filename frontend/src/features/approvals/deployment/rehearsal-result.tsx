import { Text } from '@mantine/core'
import type { Rehearsal } from '../../../api/types.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { formatBytes, formatCount } from '../../../strings/everywhere/units.ts'
import { rehearsalStrings as words } from '../../../strings/pipelines/rehearsal.ts'
import own from './deployment.module.css'

/** The result of a rehearsal: rows, columns and samples of both versions side by side. */
export function RehearsalResult({ result }: { readonly result: Rehearsal }) {
  const {
    candidate,
    base,
    inputs,
    limits,
    sample_only_in_candidate: onlyCandidate,
    sample_only_in_base: onlyBase,
  } = result
  return (
    <div className={own.result} role="status">
      <Text size="sm" fw={600}>
        {summaryOf(result)}
      </Text>
      {base !== null && base.problem !== null && (
        <Notice tone="warn" title={words.baseProblem(base.version)}>
          {base.problem}
        </Notice>
      )}
      {result.secrets_as_names.length > 0 && (
        <Notice tone="warn" title={words.secretsAsNames}>
          {result.secrets_as_names.join(', ')}
        </Notice>
      )}
      <ColumnTable result={result} />
      <CheckTable result={result} />
      <Sample
        title={words.onlyCandidate}
        columns={candidate.columns}
        rows={onlyCandidate}
        all={result.rows_only_in_candidate}
      />
      <Sample title={words.onlyBase} columns={base?.columns ?? []} rows={onlyBase} all={result.rows_only_in_base} />
      {result.samples_truncated && (
        <Text size="sm" c="dimmed">
          {words.truncated}
        </Text>
      )}
      <div>
        <h3 className={own.heading}>{words.inputs}</h3>
        <ul className={own.list}>
          {inputs.map(({ table, rows, files, complete }) => (
            <li key={table}>
              {words.input(table, rows, files)}
              {complete ? undefined : ` (${words.incomplete})`}
            </li>
          ))}
        </ul>
        <Text size="sm" c="dimmed">
          {words.limits(limits.files_per_table, limits.rows_per_table, formatBytes(limits.bytes_per_table))}
        </Text>
      </div>
    </div>
  )
}

function summaryOf({ base, rows_only_in_candidate: candidate, rows_only_in_base: other }: Rehearsal): string {
  if (base === null) return words.none
  if (base.problem !== null) return words.notCompared
  return candidate === 0 && other === 0 ? words.same : words.differ(candidate, other)
}

function ColumnTable({ result }: { readonly result: Rehearsal }) {
  const { candidate, base, columns } = result
  const hasBase = base !== null && base.rows !== null
  return (
    <div className={own.scroll}>
      <table className={own.table}>
        <caption>
          {words.columns.title}
          {result.distinct_counts === 'approximate' ? `. ${words.approximate}` : ''}
        </caption>
        <thead>
          <tr>
            <th rowSpan={2} scope="col">
              {words.columns.name}
            </th>
            <th colSpan={3} scope="colgroup">
              {words.candidate(candidate.version)}
            </th>
            {hasBase && (
              <th colSpan={3} scope="colgroup">
                {words.base(base.version, base.is_running)}
              </th>
            )}
          </tr>
          <tr>
            <SideHeads />
            {hasBase && <SideHeads />}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">{words.rows}</th>
            <td colSpan={3} className={own.number}>
              {formatCount(candidate.rows)}
            </td>
            {hasBase && (
              <td colSpan={3} className={own.number}>
                {formatCount(base.rows ?? 0)}
              </td>
            )}
          </tr>
          {columns.map((column) => (
            <ColumnRow key={`${column.name} ${column.in_candidate}`} column={column} hasBase={hasBase} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** How many rows fail each check of both versions; nothing if neither has checks. */
function CheckTable({ result: { candidate, base } }: { readonly result: Rehearsal }) {
  const others = base?.checks ?? []
  if (candidate.checks.length + others.length + candidate.rows_dropped === 0) return undefined
  const keys = new Map([...candidate.checks, ...others].map((check) => [keyOf(check), check]))
  return (
    <div className={own.scroll}>
      <table className={own.table}>
        <caption>
          {words.checks.title}. {words.checks.left(candidate.rows_diverted, candidate.rows_dropped)}
        </caption>
        <thead>
          <tr>
            <th scope="col">{words.checks.name}</th>
            <th scope="col">{words.candidate(candidate.version)}</th>
            {base !== null && <th scope="col">{words.base(base.version, base.is_running)}</th>}
          </tr>
        </thead>
        <tbody>
          {[...keys].map(([key, { node_id: node, name }]) => (
            <tr key={key}>
              <th scope="row">{words.checks.label(node, name)}</th>
              <Failed check={candidate.checks.find((check) => keyOf(check) === key)} />
              {base !== null && <Failed check={others.find((check) => keyOf(check) === key)} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type RehearsalCheck = Rehearsal['candidate']['checks'][number]

function keyOf({ node_id: node, name }: RehearsalCheck): string {
  return JSON.stringify([node, name])
}

function Failed({ check }: { readonly check: RehearsalCheck | undefined }) {
  if (check === undefined) return <td className={own.dimmed}>{words.columns.missing}</td>
  const { failed, total, would_stop: stops } = check
  return (
    <td className={own.number}>
      {words.checks.of(failed, total)}
      {stops ? ` (${words.checks.stops})` : undefined}
    </td>
  )
}

function SideHeads() {
  return (
    <>
      <th scope="col">{words.columns.type}</th>
      <th scope="col" className={own.number}>
        {words.columns.nulls}
      </th>
      <th scope="col" className={own.number}>
        {words.columns.distinct}
      </th>
    </>
  )
}

type ComparedColumn = Rehearsal['columns'][number]

function ColumnRow({ column, hasBase }: { readonly column: ComparedColumn; readonly hasBase: boolean }) {
  const isChanged =
    hasBase &&
    (column.type_candidate !== column.type_base ||
      column.nulls_candidate !== column.nulls_base ||
      column.distinct_candidate !== column.distinct_base)
  const note = { value: undefined, text: words.columns.text, none: words.columns.ignored }[column.comparison]
  return (
    <tr data-changed={isChanged || undefined}>
      <th scope="row">
        {column.name}
        {hasBase && note !== undefined && <span className={own.dimmed}> {note}</span>}
      </th>
      <Side type={column.type_candidate} nulls={column.nulls_candidate} distinct={column.distinct_candidate} />
      {hasBase && <Side type={column.type_base} nulls={column.nulls_base} distinct={column.distinct_base} />}
    </tr>
  )
}

interface SideProps {
  readonly type: string | null
  readonly nulls: number | null
  readonly distinct: number | null
}

function Side({ type, nulls, distinct }: SideProps) {
  return (
    <>
      <td>{type ?? <span className={own.dimmed}>{words.columns.missing}</span>}</td>
      <td className={own.number}>{nulls === null ? '' : formatCount(nulls)}</td>
      <td className={own.number}>{distinct === null ? '' : formatCount(distinct)}</td>
    </>
  )
}

interface SampleProps {
  readonly title: string
  readonly columns: readonly { readonly name: string }[]
  readonly rows: readonly (readonly unknown[])[]
  /** Number of such rows. */
  readonly all: number
}

function Sample({ title, columns, rows, all }: SampleProps) {
  if (rows.length === 0) return undefined
  return (
    <div className={own.scroll}>
      <table className={own.table}>
        <caption>
          {title}: {words.samples(rows.length, all)}
        </caption>
        <thead>
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            // oxlint-disable-next-line react/no-array-index-key -- rows with hidden or shortened values may be alike
            <tr key={line}>
              {row.map((value, at) => (
                // oxlint-disable-next-line react/no-array-index-key -- the values of a row have no other names
                <td key={at}>{textOf(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function textOf(value: unknown) {
  if (value === null) return <span className={own.dimmed}>{words.null}</span>
  return typeof value === 'string' ? value : JSON.stringify(value)
}
