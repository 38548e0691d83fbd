import { useMemo, useState } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import { ChevronDownIcon, ChevronRightIcon } from '../../components/icons.tsx'
import { Scrollable } from '../../components/scrollable.tsx'
import { StatusDot, type StatusTone } from '../../components/status-dot.tsx'
import { agentStrings } from '../../strings/agent.ts'
import type { ShownCall } from './live-turn.ts'
import { prettyJson, readToolResult, type ResultTable, subjectOf } from './tool-result.ts'
import classes from './agent.module.css'

const strings = agentStrings.call

type CallState = 'running' | 'ok' | 'failed'

const TONES: Readonly<Record<CallState, StatusTone>> = { running: 'active', ok: 'ok', failed: 'bad' }

interface ToolCallsProps {
  readonly calls: readonly ShownCall[]
  /** Whether calls without a result may still get one. */
  readonly isRunning: boolean
}

/** The tools that were called for an answer, each to be unfolded. */
export function ToolCalls({ calls, isRunning }: ToolCallsProps) {
  if (calls.length === 0) return undefined
  return (
    <ul className={classes.calls} aria-label={strings.title}>
      {calls.map((call) => (
        <li key={call.id}>
          <ToolCallView call={call} isRunning={isRunning} />
        </li>
      ))}
    </ul>
  )
}

interface ToolCallViewProps {
  readonly call: ShownCall
  readonly isRunning: boolean
}

function ToolCallView({ call, isRunning }: ToolCallViewProps) {
  const [isOpen, setOpen] = useState(false)
  const { tool, argumentsJson, resultJson, ok } = call
  const result = useMemo(() => (resultJson === undefined ? undefined : readToolResult(resultJson)), [resultJson])
  const hasFailed = ok === false || result?.error !== undefined || (!isRunning && result === undefined)
  const state = isRunning && result === undefined ? 'running' : hasFailed ? 'failed' : 'ok'
  return (
    <>
      <button type="button" className={classes.call} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? <ChevronDownIcon size={12} /> : <ChevronRightIcon size={12} />}
        <code>{tool}</code>
        <span className={classes.subject}>{subjectOf(argumentsJson)}</span>
        <StatusDot tone={TONES[state]} label={strings[state]} />
      </button>
      {isOpen ? (
        <div className={classes.callBody}>
          <h3>{strings.arguments}</h3>
          <CodeBlock code={prettyJson(argumentsJson)} label={strings.arguments} maxHeight={200} />
          {resultJson === undefined || !result ? undefined : (
            <>
              <h3>{strings.result}</h3>
              {result.error === undefined ? undefined : <p className={classes.bad}>{result.error}</p>}
              {result.isTruncated ? <p className={classes.dimmed}>{strings.truncated}</p> : undefined}
              {result.table ? <TableOfResult table={result.table} /> : undefined}
              <details open={!result.table}>
                <summary>{strings.asJson}</summary>
                <CodeBlock code={prettyJson(resultJson)} label={strings.result} />
              </details>
            </>
          )}
        </div>
      ) : undefined}
    </>
  )
}

function TableOfResult({ table: { columns, rows } }: { readonly table: ResultTable }) {
  if (rows.length === 0) return <p className={classes.dimmed}>{strings.noRows}</p>
  return (
    <Scrollable className={classes.resultTable} label={strings.rows(rows.length)}>
      <table>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={`${index} ${column}`} scope="col" data-number={rows[0]?.[index]?.isNumber === true || undefined}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map(({ text, isNumber }, column) => (
                <td key={column} data-number={isNumber || undefined} title={text}>
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}
