package match

import (
	"errors"
	"math"

	"github.com/concordia-node/concordia/wire"
)

// A Location is a point on the earth, and how far from it a deal can be.
type Location struct {
	Lat, Lng float64 // degrees
	Within   float64 // kilometers; 0: it does not say

	cos float64 // of the latitude
}

const (
	earthRadius = 6371.0 // kilometers
	maxWithin   = 20_038 // kilometers: all of the earth is nearer
)

var (
	errOnePoint = errors.New("want the point once: of, coordinates, or lat and lng")
	errDegrees  = errors.New("want degrees: lat from -90 to 90, lng from -180 to 180")
	errWithin   = errors.New("want kilometers above 0, at most 20038")
)

// readLocation reads the location of an entry (SPEC §7.1).
func readLocation(r wire.Reader) *Location {
	r = r.For(RuleLocation)
	r.Open("within_km", "of", "coordinates", "lat", "lng")
	l := new(Location)
	if r.Has("within_km") {
		var ok bool
		if l.Within, ok = r.Value("within_km").Float(); !ok || l.Within <= 0 || l.Within > maxWithin {
			r.Fail("within_km", errWithin)
		}
	}
	point, points := r, 0
	for _, name := range []string{"of", "coordinates"} {
		if p, ok := r.OptObject(name); ok {
			point, points = p, points+1
			p.Open("lat", "lng")
		}
	}
	if r.Has("lat") || r.Has("lng") {
		points++
	}
	if points != 1 {
		r.Fail("", errOnePoint)
		return l
	}
	l.Lat, l.Lng = degrees(point, "lat", 90), degrees(point, "lng", 180)
	l.cos = math.Cos(l.Lat * radian)
	return l
}

func degrees(r wire.Reader, name string, most float64) float64 {
	d, ok := r.Value(name).Float()
	if !ok || math.Abs(d) > most {
		r.Fail(name, errDegrees)
		return 0
	}
	return d
}

const radian = math.Pi / 180

// distance returns the kilometers between two points, along a great circle.
func (l *Location) distance(m *Location) float64 {
	sin := func(degrees float64) float64 { s := math.Sin(degrees * radian / 2); return float64(s * s) }
	h := sin(l.Lat-m.Lat) + float64(l.cos*m.cos*sin(l.Lng-m.Lng)) // not fused
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h)))
}

// near compares two locations: how good their distance is, in ten-thousandths, and
// whether it is in all radii that were named. Rounding to meters makes it the same
// everywhere.
func (l *Location) near(m *Location) (kilometers float64, quality int, ok bool) {
	const meter = 0.001
	apart := math.Abs(l.Lat-m.Lat) * radian * earthRadius // at least
	if l.Within > 0 && apart > l.Within+meter || m.Within > 0 && apart > m.Within+meter {
		return 0, 0, false
	}
	d := math.Round(l.distance(m)*1000) / 1000
	quality = full
	for _, within := range []float64{l.Within, m.Within} {
		if within == 0 {
			continue
		}
		if d > within {
			return d, 0, false
		}
		quality = min(quality, full-int(math.Round(full/2*(d/within))))
	}
	return d, quality, true
}
