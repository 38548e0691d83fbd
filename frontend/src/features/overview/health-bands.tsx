import { Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { HealthIndex } from '../../api/types.ts'
import { formatCount } from '../../strings/everywhere/units.ts'
import { overview as words } from '../../strings/overview.ts'
import { inCatalog } from './in-catalog.ts'
import classes from './overview.module.css'

const BANDS = ['poor', 'fair', 'good', 'unknown'] as const

interface HealthBandsProps extends Pick<HealthIndex, 'bands'> {
  /** The catalog whose tables are counted; undefined: all catalogs. */
  readonly catalog: string | undefined
}

/** How many tables are in each band, as a bar and as links to them. */
export function HealthBands({ bands, catalog }: HealthBandsProps) {
  const parts = BANDS.map((band) => `${words.bands[band]} ${formatCount(bands[band])}`).join(', ')
  return (
    <section className={classes.card} aria-labelledby="overview-health">
      <Title order={2} id="overview-health">
        {words.health}
      </Title>
      <div className={classes.bands} role="img" aria-label={words.barLabel(parts)}>
        {BANDS.map(
          (band) => bands[band] > 0 && <span key={band} className={classes[band]} style={{ flexGrow: bands[band] }} />,
        )}
      </div>
      <ul className={classes.legend}>
        {BANDS.map((band) => (
          <li key={band}>
            <Link to="/tables" search={{ health: band, sort: 'score', ...inCatalog(catalog) }}>
              <span className={`${classes.swatch} ${classes[band]}`} aria-hidden="true" />
              {words.bands[band]}
            </Link>
            <strong>{formatCount(bands[band])}</strong>
            <span className={classes.dim}>{words.bandHelp[band]}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
