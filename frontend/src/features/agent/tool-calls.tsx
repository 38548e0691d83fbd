import { useMemo, useState } from 'react'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { ChevronDownIcon, ChevronRightIcon } from '../../components/icons.tsx'
import { Scrollable } from '../../components/scrollable.tsx'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { agentStrings } from '../../strings/agent.ts'
import type { ShownCall } from './live-turn.ts'
import { prettyJson, readToolResult, type ResultTable, subjectOf, type ToolResult } from './tool-result.ts'
import classes from './agent.module.css'

const strings = agentStrings.call

type CallState = 'running' | 'ok' | 'failed'

const TONES: Readonly<Record<CallState, StatusTone>> = { running: 'active', ok: 'ok', failed: 'bad' }

interface ToolCallsProps {
  readonly calls: readonly ShownCall[]
  /** Whether calls without a result may still get one. */
  readonly isRunning: boolean
}

/** The tool calls of an answer; each can be expanded. */
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
  const state = callState({ isRunning, result, ok })
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
          {resultJson === undefined || !result ? undefined : <CallResult result={result} json={resultJson} />}
        </div>
      ) : undefined}
    </>
  )
}

interface CallOutcome {
  readonly isRunning: boolean
  readonly result: ToolResult | undefined
  readonly ok: boolean | undefined
}

function callState({ isRunning, result, ok }: CallOutcome): CallState {
  if (result === undefined) return isRunning ? 'running' : 'failed'
  return ok === false || result.error !== undefined ? 'failed' : 'ok'
}

function CallResult({ result, json }: { readonly result: ToolResult; readonly json: string }) {
  return (
    <>
      <h3>{strings.result}</h3>
      {result.error === undefined ? undefined : <p className={classes.bad}>{result.error}</p>}
      {result.isTruncated ? <p className={classes.dimmed}>{strings.truncated}</p> : undefined}
      {result.table ? <TableOfResult table={result.table} /> : undefined}
      <details open={!result.table}>
        <summary>{strings.asJson}</summary>
        <CodeBlock code={prettyJson(json)} label={strings.result} />
      </details>
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
