import { Button, Text } from '@mantine/core'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import type { QueryAnswer } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { Page } from '../../components/page/page.tsx'
import { downloadCsv } from '../../components/rows/csv.ts'
import { RowGrid } from '../../components/rows/row-grid.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { useFieldShortcuts } from '../../components/shortcuts/use-shortcuts.ts'
import { errorText, Loading } from '../../components/status/states.tsx'
import { shortcuts } from '../../strings/everywhere/shortcuts.ts'
import { formatBytes, formatDuration } from '../../strings/everywhere/units.ts'
import { queryStrings as words, rowGrid } from '../../strings/query.ts'
import { runQuery } from './api.ts'
import { PlainField } from './editor/plain-field.tsx'
import classes from './query.module.css'
import { recentQueries, rememberQuery } from './recent-queries.ts'

const route = getRouteApi('/query')

/** The editor is large, so it loads apart from the page. */
const SqlField = lazy(async () => {
  const loaded = await import('./editor/sql-editor.tsx').catch(() => undefined)
  return { default: loaded?.SqlEditor ?? PlainField }
})

/** One SELECT over tables, and its result. The query is in the address, so that it can be shared. */
export function QueryPage() {
  const { sql: shared = '' } = route.useSearch()
  const [sql, setSql] = useState(shared)
  useEffect(() => setSql(shared), [shared])
  const run = useQueryRun()
  const { data, error, isPending } = run.asked
  return (
    <Page title={words.title} lead={words.lead}>
      <div className={classes.page}>
        <Editor sql={sql} onChange={setSql} run={run} />
        {isPending && <Loading lines={3} label={words.running} />}
        {error && <Notice tone="bad">{errorText(error)}</Notice>}
        {data && !isPending && <Result answer={data} isDryRun={run.isEstimate} />}
        <Recent queries={run.recent} onChoose={setSql} />
      </div>
    </Page>
  )
}

type QueryRun = ReturnType<typeof useQueryRun>

/** One query at a time: it is in the address and among the recent ones before it runs. */
function useQueryRun() {
  const navigate = useNavigate({ from: '/query' })
  const [recent, setRecent] = useState(recentQueries)
  const [isEstimate, setEstimate] = useState(false)
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const asked = useAction({
    send: ({ text, isDryRun }: { readonly text: string; readonly isDryRun: boolean }) => {
      running.current = new AbortController()
      return runQuery(text, isDryRun, running.current.signal)
    },
  })
  const start = (sql: string, isDryRun: boolean): void => {
    const text = sql.trim()
    if (text === '' || asked.isPending) return
    if (!isDryRun) setRecent(rememberQuery(text))
    setEstimate(isDryRun)
    void navigate({ search: { sql: text }, replace: true })
    asked.mutate({ text, isDryRun })
  }
  const cancel = (): void => {
    running.current?.abort()
    asked.reset()
  }
  return { asked, recent, isEstimate, start, cancel }
}

interface EditorProps {
  readonly sql: string
  readonly onChange: (sql: string) => void
  readonly run: QueryRun
}

function Editor({ sql, onChange, run: { asked, isEstimate, start, cancel } }: EditorProps) {
  const { place, run: label } = shortcuts.query
  const onKeyDown = useFieldShortcuts(place, [{ keys: ['mod+Enter'], label, run: () => start(sql, false) }])
  return (
    <>
      <Suspense fallback={<Loading lines={4} />}>
        <SqlField sql={sql} onChange={onChange} onKeyDown={onKeyDown} />
      </Suspense>
      <div className={classes.buttons}>
        <Button onClick={() => start(sql, false)} loading={asked.isPending && !isEstimate}>
          {words.run}
        </Button>
        <Button variant="default" onClick={() => start(sql, true)} loading={asked.isPending && isEstimate}>
          {words.estimate}
        </Button>
        {asked.isPending && (
          <Button variant="default" onClick={cancel}>
            {words.cancel}
          </Button>
        )}
      </div>
    </>
  )
}

function Result({ answer, isDryRun }: { readonly answer: QueryAnswer; readonly isDryRun: boolean }) {
  const { rows, truncated, planned_files: files, planned_bytes: all, read_bytes: read, duration_ms: ms } = answer
  if (isDryRun) {
    return (
      <Text size="sm" role="status">
        {rowGrid.wouldRead(files, formatBytes(all))}
      </Text>
    )
  }
  return (
    <>
      <div className={classes.buttons}>
        <Text size="sm" role="status">
          {rows.length === 0 ? rowGrid.none : rowGrid.rows(rows.length, truncated)}{' '}
          <span className={classes.dim}>{rowGrid.read(formatBytes(read), formatBytes(all), formatDuration(ms))}</span>
        </Text>
        {rows.length > 0 && (
          <Button variant="default" size="compact-sm" onClick={() => downloadCsv(answer)}>
            {words.export}
          </Button>
        )}
      </div>
      <RowGrid label={words.result} answer={answer} />
    </>
  )
}

interface RecentProps {
  readonly queries: readonly string[]
  readonly onChoose: (sql: string) => void
}

function Recent({ queries, onChoose }: RecentProps) {
  if (queries.length === 0) return undefined
  return (
    <section aria-labelledby="recent-queries">
      <h2 id="recent-queries" className={classes.heading}>
        {words.history}
      </h2>
      <ul className={classes.recent}>
        {queries.map((text) => (
          <li key={text}>
            <button type="button" title={text} onClick={() => onChoose(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
