package steps

/*
#include <math.h>
#include "step.h"
*/
import "C"

import (
	"math"
	"strconv"
)

// The twin of matrix.c. libm is Python's, and the same as C's.

// rotated is the size of what Image.rotate makes with expand.
func rotated(s *step, angle float64, width, height int64) (newWidth, newHeight int64) {
	m, quarters := rotation(s, angle, width, height)
	switch quarters {
	case 1, 3:
		return height, width
	case 0, 2:
		return width, height
	}
	var xs, ys [4]float64
	for i, corner := range [4][2]int64{{0, 0}, {width, 0}, {width, height}, {0, height}} {
		xs[i], ys[i] = see(m, float64(corner[0]), float64(corner[1]))
	}
	return extent(xs), extent(ys)
}

func extent(v [4]float64) int64 {
	side := math.Ceil(max(v[0], v[1], v[2], v[3])) - math.Floor(min(v[0], v[1], v[2], v[3]))
	return int64(min(side, math.MaxInt32))
}

func see(m [6]float64, x, y float64) (float64, float64) {
	return float64(m[0]*x) + float64(m[1]*y) + m[2], float64(m[3]*x) + float64(m[4]*y) + m[5]
}

// degree is one in radians, divided as Python divides.
var (
	pi     = math.Float64frombits(0x400921fb54442d18)
	degree = pi / 180
)

// rotation is the matrix of Image.rotate before it expands, or a number of quarters
// from 0 on.
func rotation(s *step, angle float64, width, height int64) (m [6]float64, quarters int) {
	if angle = math.Mod(angle, 360); angle < 0 {
		angle += 360
	}
	centred := s.given&C.GF_GIVEN_CENTER != 0
	if !centred && (angle == 0 || angle == 180 || (angle == 90 || angle == 270) && (s.expand != 0 || width == height)) {
		return m, int(angle / 90)
	}
	x, y := float64(width)/2, float64(height)/2
	if centred {
		x, y = float64(s.center[0]), float64(s.center[1])
	}
	angle = -float64(angle * degree)
	cosine, sine := float64(C.cos(C.double(angle))), float64(C.sin(C.double(angle)))
	m = [6]float64{round15(cosine), round15(sine), 0, round15(-sine), round15(cosine), 0}
	m[2], m[5] = see(m, -x, -y)
	m[2] += x
	m[5] += y
	return m, -1
}

// round15 is Python's round(x, 15).
func round15(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 15, 64), 64)
	return rounded
}

// Rotation is what Image.rotate does to a picture: a number of quarters, or -1, a
// transform's numbers and the result's size.
func Rotation(s Step, angle float64, size Size) (quarters int, numbers [6]float64, to Size, err error) {
	var c step
	if err = randomRotation.read(s, &c); err != nil {
		return 0, numbers, size, err
	}
	width, height := int64(size.Width), int64(size.Height)
	numbers, quarters = rotation(&c, angle, width, height)
	if s.Expand && quarters < 0 {
		newWidth, newHeight := rotated(&c, angle, width, height)
		numbers[2], numbers[5] = see(numbers, -float64(newWidth-width)/2, -float64(newHeight-height)/2)
		return quarters, numbers, Size{int32(newWidth), int32(newHeight)}, nil
	}
	if quarters == 1 || quarters == 3 {
		size.Width, size.Height = size.Height, size.Width
	}
	return quarters, numbers, size, nil
}

// Slope is the angle of a shear in degrees, by its tangent.
func Slope(tangent float64) float64 { return float64(C.atan(C.double(tangent))) * (180 / pi) }

// Affine is the matrix of torchvision's affine, of either version.
func Affine(version string, angle, scale float64, shear, move, center [2]float64) [6]float64 {
	cos := func(x float64) float64 { return float64(C.cos(C.double(x))) }
	sin := func(x float64) float64 { return float64(C.sin(C.double(x))) }
	tan := func(x float64) float64 { return float64(C.tan(C.double(x))) }
	turn, x, y := float64(angle*degree), float64(shear[0]*degree), float64(shear[1]*degree)
	a, c := cos(turn-y)/cos(y), sin(turn-y)/cos(y)
	b, d := -float64(cos(turn-y)*tan(x))/cos(y)-sin(turn), -float64(sin(turn-y)*tan(x))/cos(y)+cos(turn)
	if version == "v2" {
		b, d = -(float64(a*tan(x)) + sin(turn)), cos(turn)-float64(c*tan(x))
	}
	m := [6]float64{d / scale, -b / scale, 0, -c / scale, a / scale, 0}
	for i := range 2 {
		along, across := center[0]+move[0], center[1]+move[1]
		if version == "v2" {
			m[3*i+2] = center[i] - float64(m[3*i]*along) - float64(m[3*i+1]*across)
		} else {
			m[3*i+2] = float64(m[3*i]*-along) + float64(m[3*i+1]*-across) + center[i]
		}
	}
	return m
}
