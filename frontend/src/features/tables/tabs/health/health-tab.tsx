import { Title, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { TableHealth } from '../../../../api/types.ts'
import { ScoreRing } from '../../../../components/status/score.tsx'
import { ErrorState, Loading } from '../../../../components/status/states.tsx'
import { formatBytes, formatCount } from '../../../../strings/everywhere/units.ts'
import { health as words } from '../../../../strings/tables.ts'
import { healthQuery } from '../../api.ts'
import classes from './health-tab.module.css'
import { HealthChart } from '../../history/chart.tsx'
import { RecommendedActions } from './recommended-actions.tsx'
import type { TabProps } from '../tab-props.ts'

/** The score with its factors, file sizes and recommended actions. */
export function HealthTab({ table, onAction }: TabProps) {
  const { data: health, isPending, isError, error, refetch } = useQuery(healthQuery(table))
  if (isPending) return <Loading lines={10} />
  if (isError) return <ErrorState error={error} onRetry={() => void refetch()} />
  return (
    <div>
      <div className={classes.verdict}>
        <ScoreRing score={health.score} />
        <p>{health.recommendation}</p>
      </div>
      <HealthChart table={table} />
      <div className={classes.grid}>
        <div className={classes.stack}>
          {health.actions.length > 0 ? (
            <RecommendedActions health={health} onAction={onAction} />
          ) : (
            <section className={classes.section}>
              <Title order={2}>{words.actionsTitle}</Title>
              <span>{words.noActions}</span>
            </section>
          )}
          <Factors health={health} />
        </div>
        <Histogram health={health} />
      </div>
    </div>
  )
}

function Factors({ health }: { readonly health: TableHealth }) {
  return (
    <section className={classes.section}>
      <Title order={2}>{words.title}</Title>
      <table className={classes.factors}>
        <thead>
          <tr>
            <th scope="col">{words.factor}</th>
            <th scope="col">{words.points}</th>
            <th scope="col">{words.detail}</th>
          </tr>
        </thead>
        <tbody>
          {health.factors.map(({ name, penalty, max_penalty: max, detail }) => (
            <tr key={name}>
              <th scope="row">{words.factors[name] ?? name}</th>
              <td>
                <div className={classes.points}>
                  {words.lost(String(penalty), String(max))}
                  <span className={classes.bar} aria-hidden="true">
                    <span style={{ width: `${(100 * penalty) / max}%` }} />
                  </span>
                </div>
              </td>
              <td>{detail}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Histogram({ health }: { readonly health: TableHealth }) {
  const ranges = health.file_size_histogram
  const most = Math.max(1, ...ranges.map(({ files }) => files))
  return (
    <section className={classes.section}>
      <Title order={2}>{words.histogramTitle}</Title>
      {health.data_file_count === 0 ? (
        <span>{words.histogramEmpty}</span>
      ) : (
        <table className={classes.histogram}>
          <thead>
            <tr>
              <th scope="col">{words.sizeHead}</th>
              <th scope="col">
                <VisuallyHidden>{words.share}</VisuallyHidden>
              </th>
              <th scope="col" className={classes.number}>
                {words.filesHead}
              </th>
              <th scope="col" className={classes.number}>
                {words.bytesHead}
              </th>
            </tr>
          </thead>
          <tbody>
            {ranges.map(({ from_bytes: from, to_bytes: to, files, bytes }) => (
              <tr key={from}>
                <th scope="row">{rangeText(from, to)}</th>
                <td className={classes.barCell}>
                  {files > 0 && (
                    <span
                      className={
                        (to ?? Number.POSITIVE_INFINITY) <= health.small_file_threshold_bytes
                          ? `${classes.column} ${classes.smallColumn}`
                          : classes.column
                      }
                      style={{ width: `${(100 * files) / most}%` }}
                    />
                  )}
                </td>
                <td className={classes.number}>{formatCount(files)}</td>
                <td className={classes.number}>{formatBytes(bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className={classes.note}>{words.threshold(formatBytes(health.small_file_threshold_bytes))}</p>
    </section>
  )
}

function rangeText(from: number, to: number | null): string {
  if (from === 0 && to !== null) return words.under(formatBytes(to))
  return words.range(formatBytes(from), to === null ? undefined : formatBytes(to))
}
